// The bar above every page: navigation, state of the stream, tenant, theme, sign-out.

import { html, nothing } from 'lit';
import { api } from './api.js';
import { live } from './live.js';
import { choices } from './parts.js';
import { href } from './router.js';

const THEMES = { auto: 'Auto', light: 'Light', dark: 'Dark' };

const LIVE = {
  live: ['live', 'Live', 'Live updates'],
  polling: ['slow', 'Polling', 'Live stream unavailable. Refreshing every 10 s.'],
  reconnecting: ['slow', 'Connecting', 'Reconnecting…'],
  paused: ['off', 'Paused', 'Live updates paused while this tab was in the background'],
  offline: ['off', 'Offline', 'Cannot reach the server. The data shown may be out of date.'],
};

export const keptTheme = () => {
  const kept = localStorage.getItem('carillon.theme');
  return kept in THEMES ? kept : 'auto';
};

export const keepTheme = (theme) => {
  localStorage.setItem('carillon.theme', theme);
  document.dispatchEvent(new Event('themechoice'));
};

const tenantChoice = (tenants) => {
  if (tenants.length < 2) return html`<span class="tenant" title="Tenant">${api.tenant}</span>`;
  // The current tenant is named even if it is not (or no longer) in the list.
  const names = tenants.includes(api.tenant) ? tenants : [api.tenant, ...tenants];
  return html`<select
    class="small"
    aria-label="Tenant"
    title="Tenant"
    @change=${(e) => {
      api.tenant = e.target.value;
    }}
  >
    ${choices(
      names.map((name) => [name, name]),
      api.tenant,
    )}
  </select>`;
};

const themeChoice = (theme, setTheme) =>
  html`<select class="small" aria-label="Theme" title="Theme" @change=${(e) => setTheme(e.target.value)}>
    ${choices(Object.entries(THEMES), theme)}
  </select>`;

/**
 * @param {object} bar
 * @param {{label: string}} bar.place the page that is shown
 * @param {{name: string, label: string}[]} bar.places the pages that the key may see
 * @param {boolean} bar.isOpen whether the navigation is unfolded, on a narrow screen
 * @param {(isOpen: boolean) => void} bar.setOpen
 * @param {string[]} bar.tenants
 * @param {string} bar.theme
 * @param {(theme: string) => void} bar.setTheme
 * @param {() => void} bar.signOut
 */
export const topBar = ({ place, places, isOpen, setOpen, tenants, theme, setTheme, signOut }) => {
  const [tone, label, title] = LIVE[live.state];
  return html`<header class="top">
    <a class="brand" href=${href('overview')} aria-label="Carillon, overview">
      <img src="/ui/icon.svg" alt="" width="22" height="22" /><span>Carillon</span>
    </a>
    <button
      type="button"
      class="menu quiet"
      aria-expanded=${isOpen}
      aria-controls="places"
      @click=${() => setOpen(!isOpen)}
    >
      ${place.label} ▾
    </button>
    <nav id="places" class="places ${isOpen ? 'open' : ''}" aria-label="Pages">
      ${places.map(
        (each) =>
          html`<a
            href=${href(each.name)}
            aria-current=${each === place ? 'page' : nothing}
            @click=${() => setOpen(false)}
            >${each.label}</a
          >`,
      )}
    </nav>
    <div class="tools">
      <span class="live live-${tone}" role="status" title=${title}><span aria-hidden="true"></span>${label}</span>
      ${tenantChoice(tenants)} ${themeChoice(theme, setTheme)}
      <button type="button" class="quiet small" title=${`Signed in as ${api.caller?.name ?? ''}`} @click=${signOut}>
        Sign out
      </button>
    </div>
  </header>`;
};
