// <c-sign-in>: the form for the API key.

import { LitElement, html, nothing } from 'lit';
import { api } from './api.js';
import { problem } from './parts.js';

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
      <p class="muted">Task scheduler on PostgreSQL</p>
      ${api.signOutReason && !this.error ? html`<p role="status">${api.signOutReason}</p>` : nothing}
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
          >First sign-in? The admin key is in <code>admin-key</code> in the server's data directory. Kept in this
          browser tab until you close it.</small
        >
        ${
          this.error?.status === 401
            ? html`<div class="alert" role="alert">
                <strong>Invalid API key</strong>
                <p>It may be incomplete, expired or revoked.</p>
              </div>`
            : problem(this.error)
        }
        <button type="submit" aria-busy=${this.busy} ?disabled=${this.busy}>Sign in</button>
      </form>
      <footer><a href="/docs">API docs</a></footer>
    </article>`;
  }
}
customElements.define('c-sign-in', SignIn);
