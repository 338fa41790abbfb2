// <c-tabs .tabs=${[{id, label, count}]} .selected=${id} @change=${(e) => e.detail}>

import { LitElement, html, nothing } from 'lit';
import { compact } from '../format.js';

/** A row of tabs; the page shows the panel of the selected one in an element with id="panel-ID". */
class Tabs extends LitElement {
  static properties = { tabs: { attribute: false }, selected: { attribute: false }, label: {} };

  constructor() {
    super();
    this.tabs = [];
    this.selected = '';
    this.label = 'Views';
  }

  createRenderRoot() {
    return this;
  }

  #select(id) {
    this.selected = id;
    this.dispatchEvent(new CustomEvent('change', { detail: id }));
  }

  #key(event) {
    const step = { ArrowRight: 1, ArrowLeft: -1 }[event.key];
    if (!step) return;
    event.preventDefault();
    const at = this.tabs.findIndex((tab) => tab.id === this.selected);
    const next = this.tabs[(at + step + this.tabs.length) % this.tabs.length];
    this.#select(next.id);
    this.updateComplete.then(() =>
      /** @type {HTMLElement | null} */ (this.querySelector('[aria-selected=true]'))?.focus(),
    );
  }

  render() {
    return html`<div class="tabs" role="tablist" aria-label=${this.label} @keydown=${this.#key}>
      ${this.tabs.map(
        (tab) =>
          html`<button
            type="button"
            role="tab"
            id="tab-${tab.id}"
            class="tab"
            aria-selected=${tab.id === this.selected}
            tabindex=${tab.id === this.selected ? 0 : -1}
            @click=${() => this.#select(tab.id)}
          >
            ${tab.label} ${tab.count === undefined ? nothing : html`<small>${compact(tab.count)}</small>`}
          </button>`,
      )}
    </div>`;
  }
}
customElements.define('c-tabs', Tabs);
