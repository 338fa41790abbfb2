// The base class of every page.

import { LitElement } from 'lit';
import { isFinal, isTransient } from './api.js';
import { live } from './live.js';

/**
 * A page: in the light DOM, with the parameters of its address, and listeners that end with it.
 *
 * Set reactive properties in the constructor: a class field would hide the accessor. Override `load()`:
 * it is called when the page is shown, when its address changes, and when the server is reachable
 * again; what it throws is in `this.error`. An override of a lit callback must call super. The first
 * <h1> gets the focus when the page is shown, and when the focused element disappears.
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
    this.#ends.push(live.onReturn(() => isTransient(this.error) && this.reload()));
  }

  /** The title of the window; may change with what was loaded. */
  get heading() {
    return '';
  }

  /** @param {AbortSignal} _signal aborted when the page is left or its address changes */
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
   * Calls `fn` repeatedly while the page is visible and could be loaded.
   *
   * @param {number} ms
   * @param {() => unknown} fn
   */
  every(ms, fn) {
    const timer = setInterval(() => document.hidden || isFinal(this.error) || fn(), ms);
    this.#ends.push(() => clearInterval(timer));
  }

  /**
   * Runs an action that may disable or remove the focused element, and then restores the focus: to
   * the element if it is still there, else to the heading.
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
