// <c-filters .filter @filter>: the form for all filters of tasks.

import { LitElement, html, nothing } from 'lit';
import { api } from '../api.js';
import { instant, localTime } from '../format.js';

class Filters extends LitElement {
  static properties = { filter: { attribute: false }, types: { state: true } };

  constructor() {
    super();
    this.filter = null;
    this.types = [];
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#loadTypes();
  }

  async #loadTypes() {
    if (api.caller?.types?.length > 0) {
      this.types = api.caller.types;
    } else if (api.may('TYPES_READ')) {
      const { data } = await api.get('/v1/types', { query: { limit: 1000 } }).catch(() => ({ data: { items: [] } }));
      this.types = data.items.map((type) => type.name);
    }
  }

  #submit(event) {
    event.preventDefault();
    const form = new FormData(event.target);
    const text = (name) => String(form.get(name) ?? '').trim();
    const query = { status: this.filter.status };
    for (const name of ['type', 'key', 'schedule', 'error']) query[name] = text(name);
    query.dueAfter = instant(text('dueAfter'));
    query.dueBefore = instant(text('dueBefore'));
    for (const line of text('metadata').split('\n')) {
      const [name, ...value] = line.split('=');
      if (name.trim() && value.length > 0) query[`metadata.${name.trim()}`] = value.join('=').trim();
    }
    this.dispatchEvent(new CustomEvent('filter', { detail: query }));
  }

  render() {
    if (!this.filter) return nothing;
    const { values, metadata } = this.filter;
    const pairs = Object.entries(metadata)
      .map(([name, value]) => `${name}=${value}`)
      .join('\n');
    return html`<form class="card" @submit=${this.#submit}>
      <div class="fields">
        <label>Type <input name="type" list="type-names" autocomplete="off" .value=${values.type ?? ''} /></label>
        <label>Key <input name="key" maxlength="200" autocomplete="off" .value=${values.key ?? ''} /></label>
        <label
          >Schedule <input name="schedule" maxlength="200" autocomplete="off" .value=${values.schedule ?? ''}
        /></label>
        <label
          >Due after <input type="datetime-local" step="1" name="dueAfter" .value=${localTime(values.dueAfter)}
        /></label>
        <label
          >Due before <input type="datetime-local" step="1" name="dueBefore" .value=${localTime(values.dueBefore)}
        /></label>
        <label
          >Error or response contains
          <input name="error" maxlength="200" autocomplete="off" .value=${values.error ?? ''}
        /></label>
        <label
          >Metadata (name=value, one per line)
          <textarea name="metadata" rows="2" spellcheck="false" .value=${pairs}></textarea>
        </label>
      </div>
      <datalist id="type-names">${this.types.map((name) => html`<option value=${name}></option>`)}</datalist>
      <div class="row"><button type="submit">Apply filters</button></div>
    </form>`;
  }
}
customElements.define('c-filters', Filters);
