// What every page is.

import { LitElement } from 'lit';
import { isFinal, mayPass } from './api.js';
import { live } from './live.js';

/**
 * A page: in the light DOM, with what stands in the address, and things that end when it goes.
 *
 * Set reactive properties in the constructor: a class field would hide the accessor. Override
 * `load()`: it is called when the page is shown, when its address changes, and when the server is back
 * that could not be reached; what it throws is in `this.error`. Who overrides a callback of lit calls
 * super's. The first <h1> gets the focus, also when what had it is gone.
 */
export class Page extends LitElement {
  /** @type {import('lit').PropertyDeclarations} */
  static properties = {
    params: { attribute: false },
    query: { attribute: false },
    error: { state: true },
    busy: { state: true },
  };

  /** @type {(() => void)[]} */
  #ends = [];
  /** @type {AbortController | null} */
  #abort = null;

  constructor() {
    super();
    /** @type {string[]} the decoded parts of the path after the page's own name */
    this.params = [];
    this.query = new URLSearchParams();
    /** @type {any} a Problem, or whatever else load() threw */
    this.error = null;
    this.busy = false;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#ends.push(live.onReturn(() => mayPass(this.error) && this.reload()));
  }

  /** What the window's title says; may change with what was loaded. */
  get heading() {
    return '';
  }

  /** @param {AbortSignal} _signal ends when the page goes or its address changes */
  async load(_signal) {}

  /** load(), with `busy` and `error` kept. */
  async reload() {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    this.busy = true;
    try {
      await this.load(abort.signal);
      if (!abort.signal.aborted) this.error = null;
    } catch (e) {
      if (!abort.signal.aborted) this.error = e;
    }
    if (!abort.signal.aborted) this.busy = false;
  }

  /**
   * Listens to the stream while the page is shown.
   *
   * @param {Parameters<typeof live.on>[0]} name
   * @param {(data: any) => void} fn
   */
  listen(name, fn) {
    this.#ends.push(live.on(name, fn));
  }

  /**
   * Calls again and again while the page is shown and seen, and there is something to see.
   *
   * @param {number} ms
   * @param {() => unknown} fn
   */
  every(ms, fn) {
    const timer = setInterval(() => document.hidden || isFinal(this.error) || fn(), ms);
    this.#ends.push(() => clearInterval(timer));
  }

  /**
   * Does something that may disable or take away what has the focus; after it, what had it has it
   * again, or the heading.
   *
   * @param {() => unknown} action
   */
  async keepFocus(action) {
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    const label = before?.textContent.trim();
    await action();
    await this.updateComplete;
    if (!this.isConnected) return;
    const isSame = before?.isConnected && before.textContent.trim() === label;
    const isLost = document.activeElement === document.body;
    if (isLost && isSame) before.focus();
    else if (isLost || (document.activeElement === before && !isSame)) this.focusHeading();
  }

  focusHeading() {
    const heading = this.querySelector('h1');
    heading?.setAttribute('tabindex', '-1');
    heading?.focus({ preventScroll: true });
  }

  update(changed) {
    const focused = this.contains(document.activeElement) ? document.activeElement : null;
    super.update(changed);
    if (focused && !focused.isConnected) this.focusHeading();
  }

  willUpdate(changed) {
    if (changed.has('params') || changed.has('query')) this.reload();
  }

  updated() {
    const title = this.heading ? `${this.heading} · Carillon` : 'Carillon';
    if (document.title !== title) document.title = title;
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#abort?.abort();
    for (const end of this.#ends.splice(0)) end();
  }
}
