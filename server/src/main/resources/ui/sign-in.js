// <c-sign-in>: a key is all that is asked for.

import { LitElement, html, nothing } from 'lit';
import { api } from './api.js';
import { problem } from './parts.js';

/** Asks for a key. */
class SignIn extends LitElement {
  static properties = { error: { state: true }, busy: { state: true } };

  constructor() {
    super();
    this.error = null;
    this.busy = false;
  }

  createRenderRoot() {
    return this;
  }

  firstUpdated() {
    this.querySelector('input').focus();
  }

  async #submit(event) {
    event.preventDefault();
    const key = /** @type {string} */ (new FormData(event.target).get('key')).trim();
    if (!key) return;
    this.busy = true;
    this.error = null;
    try {
      await api.signIn(key);
    } catch (e) {
      this.error = e;
      this.busy = false;
    }
  }

  render() {
    return html`<article class="sign-in">
      <h1><img src="/ui/icon.svg" alt="" width="32" height="32" /> Carillon</h1>
      ${api.farewell && !this.error ? html`<p role="status">${api.farewell}</p>` : nothing}
      <form @submit=${this.#submit}>
        <label
          >API key
          <input
            type="password"
            name="key"
            autocomplete="off"
            spellcheck="false"
            required
            aria-describedby="key-hint"
            aria-invalid=${this.error ? 'true' : nothing}
          />
        </label>
        <small id="key-hint"
          >The admin key of a new installation is in <code>admin-key</code> in its data directory. The key stays in this
          tab, until it is closed.</small
        >
        ${
          this.error?.status === 401
            ? html`<div class="alert" role="alert">
                <strong>This key is not known.</strong>
                <p>Is it whole, and not expired or revoked?</p>
              </div>`
            : problem(this.error)
        }
        <button type="submit" aria-busy=${this.busy} ?disabled=${this.busy}>Sign in</button>
      </form>
      <footer><a href="/docs">The API</a></footer>
    </article>`;
  }
}
customElements.define('c-sign-in', SignIn);
