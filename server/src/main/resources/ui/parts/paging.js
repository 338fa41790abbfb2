// Lists page by page: forward by the cursors of the server, back by those that were used.

import { LitElement, html, nothing } from 'lit';
import { isFinal, isTransient } from '../api.js';
import { count } from '../format.js';
import { live } from '../live.js';

const MAX_EMPTY_PAGES = 10;

/**
 * A list that is shown page by page; a controller of the element that shows it.
 *
 * A page that failed because the server was unreachable is loaded again when it is back.
 *
 * `load(cursor, signal)` returns `{items, nextCursor}`. Up to ten empty pages with a next cursor are
 * skipped at a time: the server searches large lists in steps.
 */
export class PagedList {
  items = [];
  busy = false;
  error = null;
  /** How many pages in a row were empty. */
  skipped = 0;
  /** Whether a page was loaded yet. */
  ready = false;
  #host;
  #load;
  #starts = [null];
  #next = null;
  #abort = null;
  #end = null;

  constructor(host, load) {
    this.#host = host;
    this.#load = load;
    host.addController(this);
  }

  hostConnected() {
    this.#end = live.onReturn(() => isTransient(this.error) && !this.busy && this.reload());
  }

  hostDisconnected() {
    this.#abort?.abort();
    this.#end?.();
  }

  /** Whether reloading is pointless. */
  get isRefused() {
    return isFinal(this.error);
  }

  get hasNext() {
    return this.#next !== null;
  }

  get hasBack() {
    return this.#starts.length > 1;
  }

  /** The number of this page, from 1. */
  get number() {
    return this.#starts.length;
  }

  /** Starts over, such as with another filter. */
  first() {
    this.#starts = [null];
    this.#next = null;
    this.items = [];
    this.ready = false;
    return this.#show(this.#starts);
  }

  reload() {
    return this.#show(this.#starts);
  }

  /** Loads the items of this page without showing them. */
  async peek() {
    return (await this.#load(this.#starts.at(-1))).items;
  }

  next() {
    if (this.#next === null) return undefined;
    return this.#show([...this.#starts, this.#next]);
  }

  back() {
    if (!this.hasBack) return undefined;
    return this.#show(this.#starts.slice(0, -1));
  }

  /** Continues after ten empty pages. */
  searchFurther() {
    return this.#show([...this.#starts.slice(0, -1), this.#next], this.skipped);
  }

  /** @param starts the cursors of the pages, the one to show last; stored only once it is loaded */
  async #show(starts, skipped = 0) {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.busy = true;
    this.error = null;
    this.skipped = skipped;
    this.#host.requestUpdate();
    try {
      let from = starts.at(-1);
      let page = await this.#load(from, abort.signal);
      for (let i = 0; i < MAX_EMPTY_PAGES && page.items.length === 0 && page.nextCursor && !abort.signal.aborted; i++) {
        this.skipped++;
        this.#host.requestUpdate();
        from = page.nextCursor;
        page = await this.#load(from, abort.signal);
      }
      if (abort.signal.aborted) return;
      this.items = page.items;
      this.#starts = [...starts.slice(0, -1), from]; // without the empty ones
      this.#next = page.nextCursor ?? null;
      this.ready = true;
      if (page.items.length > 0) this.skipped = 0;
    } catch (e) {
      if (abort.signal.aborted) return;
      this.error = e;
    }
    this.busy = false;
    this.#host.requestUpdate();
  }
}

/** Previous, next and the page number: <c-pager .pages=${this.pages} .version=${…}></c-pager>. */
class Pager extends LitElement {
  static properties = { pages: { attribute: false, hasChanged: () => true } };

  constructor() {
    super();
    /** @type {PagedList | undefined} */
    this.pages = undefined;
  }

  createRenderRoot() {
    return this;
  }

  render() {
    const { pages } = this;
    if (!pages) return nothing;
    const stopped = !pages.busy && pages.items.length === 0 && pages.hasNext;
    if (stopped || (pages.busy && pages.skipped > 0)) {
      return html`<div class="pager" role="status">
        <span>No matches in the first ${count(pages.skipped)} pages.</span>
        ${
          stopped
            ? html`<button type="button" class="outline small" @click=${() => pages.searchFurther()}>
                Search further
              </button>`
            : nothing
        }
      </div>`;
    }
    if (!pages.hasNext && !pages.hasBack) return nothing;
    return html`<nav class="pager" aria-label="Pages">
      <button
        type="button"
        class="outline small"
        ?disabled=${!pages.hasBack || pages.busy}
        @click=${() => pages.back()}
      >
        ← Previous
      </button>
      <span>Page ${count(pages.number)}</span>
      <button
        type="button"
        class="outline small"
        ?disabled=${!pages.hasNext || pages.busy}
        @click=${() => pages.next()}
      >
        Next →
      </button>
    </nav>`;
  }
}
customElements.define('c-pager', Pager);
