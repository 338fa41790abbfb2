// <c-json> and <c-copy>: text of tenants, to read and to copy.

import { LitElement, html, nothing } from 'lit';
import { parseExact } from '../exact-json.js';
import { bytes, visible } from '../format.js';

const HEAD = 64 * 1024;
const COLOURED = 24 * 1024;
const FOLDED_LINES = 24;

const TOKEN = /("(?:\\.|[^"\\])*")(\s*:)?|\b(true|false|null)\b|(-?\d+(?:\.\d+)?(?:[eE][-+]?\d+)?)/g;

/** JSON with coloured tokens; all of it as text, never as markup. */
const coloured = (text) => {
  const parts = [];
  let end = 0;
  for (const match of text.matchAll(TOKEN)) {
    const [all, string, colon, word] = match;
    parts.push(text.slice(end, match.index));
    const tone = string ? (colon ? 'key' : 'string') : word ? 'word' : 'number';
    parts.push(html`<span class="json-${tone}">${string ?? all}</span>${colon ?? nothing}`);
    end = match.index + all.length;
  }
  parts.push(text.slice(end));
  return parts;
};

/** navigator.clipboard exists on HTTPS and localhost only; execCommand works without. */
const copied = async (text) => {
  if (navigator.clipboard) {
    return navigator.clipboard.writeText(text).then(
      () => true,
      () => false,
    );
  }
  const area = document.createElement('textarea');
  area.value = text;
  area.className = 'unseen';
  document.body.append(area);
  area.select();
  const done = document.execCommand('copy');
  area.remove();
  return done;
};

/** A button that copies a text: <c-copy .text=${id} label="Copy ID"></c-copy>. */
class Copy extends LitElement {
  static properties = { text: { attribute: false }, label: {}, done: { state: true } };

  constructor() {
    super();
    this.text = '';
    this.label = 'Copy';
    this.done = '';
  }

  createRenderRoot() {
    return this;
  }

  async #copy() {
    this.done = (await copied(this.text)) ? 'Copied' : 'Copy failed';
    setTimeout(() => (this.done = ''), 1500);
  }

  render() {
    return html`<button
      type="button"
      class="quiet small"
      aria-label=${this.done || this.label}
      title=${this.label}
      @click=${this.#copy}
    >
      ${this.done || (this.label.startsWith('Copy') ? 'Copy' : this.label)}
    </button>`;
  }
}
customElements.define('c-copy', Copy);

/**
 * Any JSON value or text. Strings are shown as text; set `json` to parse them as JSON.
 *
 * Long values are folded; very long ones are cut until the user expands them.
 */
class Json extends LitElement {
  static properties = {
    value: { attribute: false },
    label: {},
    json: { type: Boolean },
    whole: { state: true },
    open: { state: true },
  };

  constructor() {
    super();
    this.value = undefined;
    this.label = 'JSON';
    this.json = false;
    this.whole = false;
    this.open = false;
  }

  createRenderRoot() {
    return this;
  }

  willUpdate(changed) {
    if (changed.has('value') || changed.has('json')) this.#read();
  }

  #read() {
    let value = this.value;
    if (this.json && typeof value === 'string') {
      try {
        value = parseExact(value);
      } catch {
        // not JSON: shown as text
      }
    }
    this.isText = typeof value === 'string';
    this.text = this.isText ? value : (JSON.stringify(value, null, 2) ?? '');
    this.lines = this.text.split('\n', FOLDED_LINES + 1).length;
  }

  render() {
    const cut = !this.whole && this.text.length > HEAD;
    const shown = visible(cut ? this.text.slice(0, HEAD) : this.text);
    const long = this.lines > FOLDED_LINES || this.text.length > 4096;
    const folded = long && !this.open;
    const body = this.isText || shown.length > COLOURED ? shown : coloured(shown);
    return html`
      <div class="json">
        <div class="json-bar">
          <small>${this.label}</small>
          ${
            long
              ? html`<button
                  type="button"
                  class="quiet small"
                  aria-expanded=${!folded}
                  @click=${() => (this.open = folded)}
                >
                  ${folded ? 'Expand' : 'Collapse'}
                </button>`
              : nothing
          }
          <c-copy .text=${this.text}></c-copy>
        </div>
        <pre
          class=${folded ? 'folded' : ''}
          tabindex="0"
          role="region"
          aria-label=${this.label}
        ><code dir="ltr">${body}</code></pre>
        ${
          cut
            ? html`<button type="button" class="quiet small" @click=${() => (this.whole = true)}>
                Show all ${bytes(this.text.length)}
              </button>`
            : nothing
        }
      </div>
    `;
  }
}
customElements.define('c-json', Json);
