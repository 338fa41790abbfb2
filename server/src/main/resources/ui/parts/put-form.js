// The form of a resource that is created or replaced by PUT under its name.

import { LitElement, html, nothing } from 'lit';
import { api, stale } from '../api.js';
import { curl } from '../curl.js';
import { problem, toast } from '../parts.js';
import { readForm } from './fields.js';

const exists = async (at) => {
  try {
    await api.get(at);
    return true;
  } catch (e) {
    if (e.status === 404) return false;
    throw e;
  }
};

/** Dispatches 'saved' with the resource, or 'left'. A subclass renders its fields between nameField() and footer(). */
export class PutForm extends LitElement {
  static properties = {
    /** The resource to edit, parsed exactly; undefined for a new one. */
    value: { attribute: false },
    etag: { attribute: false },
    error: { state: true },
    busy: { state: true },
    command: { state: true },
  };

  #kind;
  #namePattern;
  #at;

  /**
   * @param {object} resource
   * @param {string} resource.kind the noun in labels, such as 'type'
   * @param {string} resource.namePattern what a name must match
   * @param {(name: string) => string} resource.at the path of the resource with this name
   */
  constructor({ kind, namePattern, at }) {
    super();
    this.#kind = kind;
    this.#namePattern = namePattern;
    this.#at = at;
    this.value = undefined;
    this.etag = null;
    this.error = null;
    this.busy = false;
    this.command = '';
  }

  createRenderRoot() {
    return this;
  }

  body() {
    return readForm(this.form);
  }

  /** The body in the command that is shown: without secrets. */
  shownBody() {
    return this.body();
  }

  get form() {
    return this.querySelector('form');
  }

  /** The name of the resource, or what was typed. */
  get name() {
    return this.value?.name ?? /** @type {HTMLInputElement} */ (this.form.elements.namedItem('name')).value.trim();
  }

  save = async (event) => {
    event.preventDefault();
    this.busy = true;
    try {
      const { name } = this;
      const data = await this.#put(this.#at(name));
      this.error = null;
      toast(this.value ? `Saved ${name}` : `Created ${name}`);
      this.dispatchEvent(new CustomEvent('saved', { detail: data }));
    } catch (e) {
      this.error = stale(e, 'Reload to get the current version. Your changes here will be lost.');
      await this.updateComplete;
      this.querySelector('[role=alert]')?.scrollIntoView({ block: 'nearest' });
    } finally {
      this.busy = false;
    }
  };

  /** Checks first that a new resource replaces none, because the API has no "only if new". */
  async #put(at) {
    if (!this.value && (await exists(at))) {
      throw Object.assign(new Error(), {
        title: `A ${this.#kind} with this name already exists`,
        detail: 'Choose another name, or edit the existing one.',
      });
    }
    return (await api.put(at, this.body(), { ifMatch: this.etag })).data;
  }

  #showCommand() {
    try {
      this.command = curl('PUT', this.#at(this.name || 'NAME'), this.shownBody());
    } catch (e) {
      this.error = e;
    }
  }

  nameField() {
    if (this.value) return nothing;
    const id = `${this.#kind}-name`;
    return html`<div class="fields">
      <div class="field">
        <label for=${id}>Name<span class="muted"> (required)</span></label>
        <input
          id=${id}
          name="name"
          required
          maxlength="100"
          pattern=${this.#namePattern}
          autocomplete="off"
          spellcheck="false"
          aria-describedby="${id}-hint"
        />
        <small id="${id}-hint">Letters, digits, _ . and -</small>
      </div>
    </div>`;
  }

  /** @param {unknown} note shown above the buttons */
  footer(note = nothing) {
    return html`${problem(this.error)} ${note}
      <div class="row">
        <button type="submit" aria-busy=${this.busy} ?disabled=${this.busy}>
          ${this.value ? 'Save' : `Create ${this.#kind}`}
        </button>
        <button type="button" class="secondary outline" @click=${() => this.dispatchEvent(new CustomEvent('left'))}>
          Cancel
        </button>
        <button type="button" class="secondary outline" @click=${this.#showCommand}>Show as curl</button>
      </div>
      ${this.command ? html`<c-json .value=${this.command} label="Command"></c-json>` : nothing}`;
  }
}
