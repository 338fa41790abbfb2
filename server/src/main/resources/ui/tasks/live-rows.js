// Keeps the rows of a list of tasks current while the stream reports changes.

import { live } from '../live.js';

const SETTLE = 500;
const MIN_INTERVAL = 5_000;

/** A controller of a page that shows a paged list of tasks. */
export class LiveRows {
  /** How many tasks changed that may match but are not on this page. */
  news = 0;
  #host;
  #pages;
  #mayMatch;
  #isBusy;
  /** Ids of rows that changed since the last refresh began. */
  #changed = new Set();
  #timer = null;
  #wanted = false;
  #missed = false;
  #refreshedAt = 0;
  #ends = [];

  /**
   * @param {import('../page.js').Page} host
   * @param {import('../parts/paging.js').PagedList} pages
   * @param {object} list
   * @param {(event: any) => boolean} list.mayMatch whether a task of the stream may be in the list
   * @param {() => boolean} list.isBusy whether the user acts on the rows, so that they must stay
   */
  constructor(host, pages, { mayMatch, isBusy }) {
    this.#host = host;
    this.#pages = pages;
    this.#mayMatch = mayMatch;
    this.#isBusy = isBusy;
    host.addController(this);
  }

  hostConnected() {
    this.#ends = [
      live.on('task', (event) => this.#onTask(event)),
      live.on('gap', () => {
        this.#missed = true;
        this.#refreshSoon();
      }),
    ];
  }

  hostDisconnected() {
    this.#ends.splice(0).forEach((end) => end());
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  /** Shown rows change in place; others are only counted, so that nothing jumps. */
  #onTask(event) {
    const row = this.#pages.items.find((task) => task.id === event.id);
    if (row) {
      row.status = event.to;
      row.attempt = event.attempt ?? row.attempt;
      this.#changed.add(event.id);
      this.#refreshSoon();
    } else if (this.#mayMatch(event)) {
      this.news++;
    }
    this.#host.requestUpdate();
  }

  /** One refresh at a time for all requests meanwhile, at least MIN_INTERVAL apart. */
  #refreshSoon() {
    this.#wanted = true;
    if (this.#timer !== null) return;
    this.#timer = setTimeout(
      async () => {
        this.#wanted = false;
        await this.#refresh().catch(() => {}); // the next one may succeed
        this.#refreshedAt = Date.now();
        this.#timer = null;
        if (this.#wanted && this.#host.isConnected) this.#refreshSoon();
      },
      Math.max(SETTLE, this.#refreshedAt + MIN_INTERVAL - Date.now()),
    );
  }

  /** Reads what the stream does not have, such as errors, or has skipped. */
  async #refresh() {
    const pages = this.#pages;
    if (pages.busy || !pages.ready) {
      this.#wanted ||= pages.busy; // the response under way may be older
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
