// #/settings: API keys, tenants, limits, and the server's version.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { bytes, count, setDuration, visible } from '../format.js';
import { Page } from '../page.js';
import { loading } from '../parts.js';
import { setQuery } from '../router.js';
import '../settings/keys.js';
import '../settings/tenants.js';

const TABS = [
  { id: 'keys', label: 'Keys', permission: 'KEYS' },
  { id: 'tenants', label: 'Tenants', permission: 'TENANTS' },
  { id: 'limits', label: 'Limits' },
  { id: 'about', label: 'About' },
];

const LIMITS = {
  bodyBytes: 'Request body',
  bodyValues: 'JSON values per request',
  batchBytes: 'Batch',
  batchTasks: 'Tasks per batch',
  payloadBytes: 'Payload',
  outputBytes: 'Output',
  restoreTasks: 'Tasks per restore',
  archiveLineBytes: 'Line of an archive',
  jsonDepth: 'JSON nesting depth',
  keyChars: 'Key length',
  metadataPairs: 'Metadata entries',
  metadataNameChars: 'Metadata name length',
  metadataValueChars: 'Metadata value length',
  pageItems: 'Items per page',
  claimTasks: 'Tasks per claim',
  claimTypes: 'Types per claim',
  maxAttempts: 'Max attempts',
  statusCodes: 'Status codes per list',
  schemaBytes: 'Payload schema',
  cronChars: 'Cron expression length',
  catchUpLimit: 'Max catch-up runs',
  previewCount: 'Runs per preview',
  listedFires: 'Runs per listed schedule',
  streams: 'Event streams per node',
  streamsOfTenant: 'Event streams per tenant',
  watchedTasks: 'Tasks per event stream',
  requestLineBytes: 'Request line',
  headerBytes: 'Request headers',
  headers: 'Number of request headers',
  horizon: 'Time ahead of a task',
  claimWait: 'Long poll of a worker',
  leaseMin: 'Min worker lease',
  leaseMax: 'Max worker lease',
  timeoutMin: 'Min attempt timeout',
  timeoutMax: 'Max attempt timeout',
  intervalMin: 'Min interval of a schedule',
  intervalMax: 'Max interval of a schedule',
};

/** 'payloadBytes' -> 'Payload bytes'. */
const words = (name) => {
  const text = name.replace(/[A-Z]/g, (c) => ` ${c.toLowerCase()}`);
  return text[0].toUpperCase() + text.slice(1);
};

const limit = (name, value) => {
  if (typeof value === 'string') return setDuration(value);
  return name.endsWith('Bytes') ? `${bytes(value)} (${count(value)})` : count(value);
};

class SettingsPage extends Page {
  static properties = { limits: { state: true } };

  constructor() {
    super();
    this.limits = null;
  }

  get heading() {
    return 'Settings';
  }

  async load(signal) {
    if (this.#tab() === 'limits' && !this.limits) {
      this.limits = (await api.get('/v1/limits', { signal })).data;
    }
  }

  #tabs() {
    return TABS.filter((tab) => !tab.permission || api.may(tab.permission));
  }

  #tab() {
    const tabs = this.#tabs();
    return (tabs.find((tab) => tab.id === this.query.get('tab')) ?? tabs[0]).id;
  }

  render() {
    const tab = this.#tab();
    return html`
      <h1>Settings</h1>
      <c-tabs
        label="Settings"
        .tabs=${this.#tabs()}
        .selected=${tab}
        @change=${(e) => setQuery({ tab: e.detail })}
      ></c-tabs>
      <div role="tabpanel" id="panel-${tab}" aria-labelledby="tab-${tab}">
        ${{
          keys: () => html`<c-keys></c-keys>`,
          tenants: () => html`<c-tenants></c-tenants>`,
          limits: () => this.#limits(),
          about: () => this.#about(),
        }[tab]()}
      </div>
    `;
  }

  #limits() {
    if (!this.limits) return loading();
    return html`<p class="muted">
        Request limits, the same for all tenants. See <code>GET /v1/limits</code> in the <a href="/docs">API docs</a>.
      </p>
      <div class="card">
        <dl class="facts">
          ${Object.entries(this.limits).map(
            ([name, value]) =>
              html`<dt>${LIMITS[name] ?? words(name)}</dt>
                <dd>${limit(name, value)}</dd>`,
          )}
        </dl>
      </div>`;
  }

  #about() {
    const me = api.caller;
    return html`<div class="cards">
      <section class="card">
        <h2>Signed in as</h2>
        <dl class="facts">
          <dt>Key</dt>
          <dd>${visible(me.name)} ${me.key ? html`<code>${me.key}</code>` : nothing}</dd>
          <dt>Role</dt>
          <dd>${me.role}</dd>
          <dt>Tenant</dt>
          <dd>${api.tenant}</dd>
          <dt>Types</dt>
          <dd>${me.types.length === 0 ? 'all' : me.types.join(', ')}</dd>
          <dt>Permissions</dt>
          <dd>
            <small>${me.permissions.map((each) => words(each.toLowerCase().replaceAll('_', ' '))).join(', ')}</small>
          </dd>
        </dl>
      </section>
      <section class="card">
        <h2>Server</h2>
        <dl class="facts">
          <dt>Version</dt>
          <dd>${me.version}</dd>
          <dt>API</dt>
          <dd><a href="/docs">Documentation</a>, <a href="/openapi.json">openapi.json</a></dd>
          <dt>Prometheus metrics</dt>
          <dd><a href="/metrics">/metrics</a></dd>
          <dt>Keyboard</dt>
          <dd><kbd>?</kbd> keyboard shortcuts</dd>
        </dl>
      </section>
    </div>`;
  }
}
customElements.define('page-settings', SettingsPage);
