// What every page is.

import { LitElement } from 'lit';
import { live } from './live.js';

/**
 * A page: in the light DOM, with what stands in the address, and things that end when it goes.
 *
 * Set reactive properties in the constructor: a class field would hide the accessor. Override
 * `load()`: it is called when the page is shown and when its address changes; what it throws is in
 * `this.error`. Who overrides a callback of lit calls super's. The first <h1> gets the focus.
 */
export class Page extends LitElement {
  static properties = {
    params: { attribute: false },
    query: { attribute: false },
    error: { state: true },
    busy: { state: true },
  };

  #ends = [];
  #abort = null;

  constructor() {
    super();
    /** @type {string[]} the decoded parts of the path after the page's own name */
    this.params = [];
    this.query = new URLSearchParams();
    this.error = null;
    this.busy = false;
  }

  createRenderRoot() {
    return this;
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

  /** Listens to the stream while the page is shown. */
  listen(name, fn) {
    this.#ends.push(live.on(name, fn));
  }

  /** Calls again and again while the page is shown and seen. */
  every(ms, fn) {
    const timer = setInterval(() => document.hidden || fn(), ms);
    this.#ends.push(() => clearInterval(timer));
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
