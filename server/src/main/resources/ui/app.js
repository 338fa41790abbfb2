// The frame around every page: top bar, sign-in, keyboard shortcuts, the tenant of the address.

import { LitElement, html, nothing } from 'lit';
import { Problem, api, isFinal, isTransient } from './api.js';
import { live } from './live.js';
import { PLACES, load, ofTenant, read } from './router.js';
import { confirm, problem, toast } from './parts.js';
import { shortcuts } from './shortcuts.js';
import { keepTheme, keptTheme, topBar } from './top-bar.js';
import './sign-in.js';

const RETRY_DELAY = 5_000;
const TENANTS_INTERVAL = 30_000;
const RELOADED_AT = 'carillon.reloaded';
const MIN_BETWEEN_RELOADS = 30_000;

const ZONE = Intl.DateTimeFormat().resolvedOptions().timeZone;

/** The application. */
class App extends LitElement {
  static properties = {
    route: { state: true },
    page: { state: true },
    error: { state: true },
    tenants: { state: true },
    theme: { state: true },
    menu: { state: true },
  };

  /** The tenant of the last address that the key has no access to. */
  #refused = '';
  #turn = 0;
  #again = null;
  #tenantsAgain = null;

  constructor() {
    super();
    this.route = read(location.hash);
    this.page = null;
    this.error = null;
    this.tenants = [];
    this.theme = keptTheme();
    this.menu = false;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    addEventListener('hashchange', () => this.#navigate());
    api.addEventListener('changed', () => {
      this.#address();
      this.#begin();
    });
    api.addEventListener('tenants', () => this.#loadTenants());
    live.on('state', () => this.requestUpdate());
    live.onReturn(() => this.error && !this.page && this.#retry());
    // A tenant may have been created in another window.
    addEventListener('focus', () => this.#loadTenants());
    setInterval(() => document.hidden || this.#loadTenants(), TENANTS_INTERVAL);
    shortcuts({ places: () => this.#places() });
    this.#begin();
  }

  willUpdate(changed) {
    if (changed.has('tenants') || changed.has('route')) this.#nameTenant();
  }

  /** Puts the tenant that was chosen into the address, as a step of its own in the history. */
  #address() {
    if (api.actsOn && read(location.hash).tenant !== api.actsOn) {
      history.pushState(null, '', ofTenant(location.hash, api.actsOn));
    }
  }

  /** Puts the current tenant into the address where there is more than one. */
  #nameTenant() {
    if (this.tenants.length > 1 && api.tenant && !read(location.hash).tenant) {
      history.replaceState(null, '', ofTenant(location.hash, api.tenant));
    }
  }

  /** Switches to the tenant that the address names, or shows why that is not possible. */
  async #follow(tenant) {
    this.page = null;
    this.error = null;
    const isOver = () => !api.signedIn || this.route.tenant !== tenant; // navigated away
    try {
      await api.requireTenant(tenant);
      if (!isOver()) api.tenant = tenant; // starts over
    } catch (e) {
      if (isOver()) return;
      if (isFinal(e)) {
        this.#refused = tenant;
        const detail =
          'The tenant in this link does not exist, or your key has no access to it. ' + `Showing ${api.tenant}.`;
        this.error = new Problem(e.status, { title: `No access to tenant “${tenant}”`, detail });
      } else {
        this.#wait(e);
      }
    }
  }

  #places() {
    return PLACES.filter((place) => !place.permission || api.may(place.permission));
  }

  /** Starts over after a sign-in, a sign-out or a switch to another tenant. */
  async #begin() {
    const turn = ++this.#turn;
    clearTimeout(this.#again);
    this.page = null;
    this.error = null;
    this.#refused = '';
    live.stop();
    this.requestUpdate();
    if (!api.signedIn) {
      this.tenants = [];
      document.title = 'Sign in · Carillon';
      return;
    }
    try {
      await api.me();
    } catch (e) {
      if (turn === this.#turn) this.#wait(e);
      return;
    }
    if (turn !== this.#turn) return; // another start has begun
    live.start();
    this.#loadTenants();
    await this.#navigate();
  }

  /** Shows the error, and retries by itself if it is transient. */
  #wait(e) {
    this.error = e;
    clearTimeout(this.#again);
    if (isTransient(e)) this.#again = setTimeout(() => this.#begin(), RETRY_DELAY);
  }

  /** For the select of the top bar only: no page waits for it or fails with it. */
  async #loadTenants() {
    if (!api.may('TENANTS')) return;
    clearTimeout(this.#tenantsAgain);
    const turn = this.#turn;
    const isOver = () => turn !== this.#turn;
    try {
      const { data } = await api.get('/v1/tenants');
      if (!isOver()) this.tenants = data.items.map((tenant) => tenant.name);
    } catch {
      clearTimeout(this.#tenantsAgain);
      this.#tenantsAgain = setTimeout(() => isOver() || this.#loadTenants(), RETRY_DELAY);
    }
  }

  async #navigate() {
    const before = this.route;
    this.route = read(location.hash);
    this.menu = false;
    if (!api.signedIn || !api.caller) return;
    clearTimeout(this.#again);
    const { page, tag, path, params, query, tenant } = this.route;
    if (tenant && tenant !== api.tenant) {
      if (tenant !== this.#refused || !this.error) await this.#follow(tenant);
      return;
    }
    // The same page with another query is kept, with what it has loaded.
    if (this.page && before.path === path) {
      this.page.query = query;
      return;
    }
    try {
      await load(page);
    } catch {
      this.page = null;
      this.error = Object.assign(new Error('Cannot reach the server. Retrying automatically.'), {
        title: 'This page could not be loaded',
        isOfScript: true,
      });
      return;
    }
    if (this.route.path !== path) return; // navigated again meanwhile
    const element = /** @type {import('./page.js').Page} */ (document.createElement(tag));
    element.params = params;
    element.query = query;
    this.error = null;
    this.page = element;
    await this.updateComplete;
    await element.updateComplete;
    scrollTo(0, 0);
    element.focusHeading();
  }

  async #signOut() {
    if (await confirm({ title: 'Sign out?', body: 'Removes the API key from this tab.', action: 'Sign out' })) {
      history.replaceState(null, '', ofTenant(location.hash, '')); // the next key may be of another
      api.signOut();
      toast('Signed out');
    }
  }

  render() {
    if (!api.signedIn) return html`<main id="main"><c-sign-in></c-sign-in></main>`;
    return html`
      <a class="skip" href="#main" @click=${this.#skip}>Skip to content</a>
      ${this.#topBar()}
      <main id="main" tabindex="-1">${problem(this.error)} ${this.page ?? this.#tryAgain()}</main>
      <footer class="zone"><small>Times in ${ZONE}</small></footer>
    `;
  }

  #topBar() {
    return topBar({
      place: this.route.place,
      places: this.#places(),
      isOpen: this.menu,
      setOpen: (isOpen) => (this.menu = isOpen),
      tenants: this.tenants,
      theme: this.theme,
      setTheme: (theme) => {
        this.theme = theme;
        keepTheme(theme);
      },
      signOut: () => this.#signOut(),
    });
  }

  /** Browsers do not fetch a script again that failed once, until the tab is reloaded. */
  #retry() {
    if (!this.error.isOfScript) {
      this.#navigate();
    } else if (Date.now() - Number(sessionStorage.getItem(RELOADED_AT) ?? 0) > MIN_BETWEEN_RELOADS) {
      sessionStorage.setItem(RELOADED_AT, String(Date.now()));
      location.reload();
    }
  }

  #tryAgain() {
    if (!this.error) return nothing;
    const again = () => (this.error.isOfScript ? location.reload() : this.#begin());
    return html`<button type="button" class="small" @click=${again}>Try again</button>`;
  }

  // The hash belongs to the router, so a plain link to #main would navigate.
  #skip(event) {
    event.preventDefault();
    document.getElementById('main').focus();
  }
}
customElements.define('c-app', App);
