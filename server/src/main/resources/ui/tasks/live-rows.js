// Keeps the rows of a list of tasks true while the stream reports changes.

import { live } from '../live.js';

const SETTLE = 500;
const APART = 5_000;

/** A controller of an element that shows tasks page by page. */
export class LiveRows {
  /** How many tasks changed that may be of this list but are not shown. */
  news = 0;
  #host;
  #pages;
  #mayBeOurs;
  #isBusy;
  /** Ids of rows that changed since the last look began. */
  #changed = new Set();
  #timer = null;
  #wanted = false;
  #missed = false;
  #lookedAt = 0;
  #ends = [];

  /**
   * @param {import('../page.js').Page} host
   * @param {import('../parts/paging.js').PagedList} pages
   * @param {object} list
   * @param {(event: any) => boolean} list.mayBeOurs whether a task of the stream may belong to the list
   * @param {() => boolean} list.isBusy whether somebody acts on the rows, so that they must stay
   */
  constructor(host, pages, { mayBeOurs, isBusy }) {
    this.#host = host;
    this.#pages = pages;
    this.#mayBeOurs = mayBeOurs;
    this.#isBusy = isBusy;
    host.addController(this);
  }

  hostConnected() {
    this.#ends = [
      live.on('task', (event) => this.#seen(event)),
      live.on('gap', () => {
        this.#missed = true;
        this.#lookSoon();
      }),
    ];
  }

  hostDisconnected() {
    this.#ends.splice(0).forEach((end) => end());
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Rows that are shown change where they are; others are only counted, so that nothing jumps. */
  #seen(event) {
    const row = this.#pages.items.find((task) => task.id === event.id);
    if (row) {
      row.status = event.to;
      row.attempt = event.attempt ?? row.attempt;
      this.#changed.add(event.id);
      this.#lookSoon();
    } else if (this.#mayBeOurs(event)) {
      this.news++;
    }
    this.#host.requestUpdate();
  }

  /** One look at a time, for all that is wanted meanwhile, and none right after another. */
  #lookSoon() {
    this.#wanted = true;
    if (this.#timer !== null) return;
    this.#timer = setTimeout(
      async () => {
        this.#wanted = false;
        await this.#look().catch(() => {}); // the next one may do better
        this.#lookedAt = Date.now();
        this.#timer = null;
        if (this.#wanted && this.#host.isConnected) this.#lookSoon();
      },
      Math.max(SETTLE, this.#lookedAt + APART - Date.now()),
    );
  }

  /** What the stream does not say of the rows, such as the error, or did not say at all. */
  async #look() {
    const pages = this.#pages;
    if (pages.busy || !pages.ready) {
      this.#wanted ||= pages.busy; // what is on its way may have left before
      return;
    }
    const shown = pages.items;
    const missed = this.#missed;
    this.#missed = false;
    this.#changed.clear();
    const now = new Map((await pages.peek()).map((task) => [task.id, task]));
    if (pages.items !== shown || pages.busy) return; // another page by now
    const gone = shown.some((row) => !now.has(row.id));
    if (missed && gone && !this.#isBusy()) {
      this.news = 0;
      await pages.reload();
      return;
    }
    for (const row of shown) {
      if (now.has(row.id) && !this.#changed.has(row.id)) Object.assign(row, now.get(row.id));
      now.delete(row.id);
    }
    if (missed) this.news = Math.max(this.news, now.size);
    this.#host.requestUpdate();
  }
}
