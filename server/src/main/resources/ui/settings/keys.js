// <c-keys>: the API keys of a tenant. A key is shown once, when it is created.

import { LitElement, html, nothing } from 'lit';
import { api, path } from '../api.js';
import { curl } from '../curl.js';
import { ago, badge, time, visible } from '../format.js';
import { PagedList, ask, confirm, empty, loading, problem, toast } from '../parts.js';

const ROLES = [
  ['viewer', 'read tasks, types and schedules'],
  ['worker', 'claim and report tasks'],
  ['producer', 'create and cancel tasks'],
  ['operator', 'producer + worker, and run, edit, redrive; manage types and schedules'],
  ['owner', 'operator, and manage keys'],
  ['admin', 'full access to all tenants'],
];

const LIFETIMES = [
  ['', 'Never'],
  ['1', '1 day'],
  ['30', '30 days'],
  ['90', '90 days'],
  ['365', '1 year'],
];

const DAY = 86_400_000;

const state = (key) => {
  if (key.revokedAt) return badge('off', '⊘', 'Revoked');
  if (key.expiresAt && new Date(key.expiresAt) <= new Date()) return badge('off', '⌛', 'Expired');
  return badge('ok', '✓', 'Active');
};

class Keys extends LitElement {
  constructor() {
    super();
    this.pages = new PagedList(this, async (cursor, signal) => {
      const { data } = await api.get('/v1/keys', { query: { limit: 50, cursor }, signal });
      return data;
    });
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.pages.first();
  }

  async #new() {
    const roles = ROLES.filter(([role]) => role !== 'admin' || api.caller.role === 'admin');
    const created = await ask({
      title: 'New key',
      action: 'Create key',
      body: html`
        <label
          >Name <input name="name" maxlength="100" required autocomplete="off" placeholder="billing service"
        /></label>
        <label
          >Role
          <select name="role">
            ${roles.map(([role, text]) => html`<option value=${role}>${role}: ${text}</option>`)}
          </select>
        </label>
        <label
          >Restrict to types
          <input name="types" autocomplete="off" placeholder="invoice.send, invoice.remind" />
          <small>Producers and workers only. Empty: all types.</small>
        </label>
        <label
          >Expires
          <select name="lifetime">
            ${LIFETIMES.map(([days, text]) => html`<option value=${days}>${text}</option>`)}
          </select>
        </label>
      `,
      submit: (form) => this.#create(form),
    });
    if (!created) return;
    this.pages.first();
    await ask({
      title: `API key “${visible(created.name)}” created`,
      action: 'I have saved it',
      cancel: false,
      held: 'Copy the key before closing. It is not shown again.',
      body: html`<p>This key is shown only once.</p>
        <c-json .value=${created.key} label="Key"></c-json>`,
    });
  }

  async #create(form) {
    const body = { name: form.get('name').trim(), role: form.get('role') };
    const types = form
      .get('types')
      .split(/[\s,]+/)
      .filter((type) => type !== '');
    if (types.length > 0) body.types = types;
    const days = Number(form.get('lifetime'));
    if (days > 0) body.expiresAt = new Date(Date.now() + days * DAY).toISOString();
    return (await api.post('/v1/keys', body)).data;
  }

  async #revoke(key) {
    const sure = await confirm({
      title: `Revoke the key “${visible(key.name)}”?`,
      body:
        key.id === api.caller.key
          ? 'You are signed in with this key and will be signed out. This cannot be undone.'
          : 'Clients using this key will be rejected. This cannot be undone.',
      action: 'Revoke',
      danger: true,
      submit: () => api.del(path`/v1/keys/${key.id}`),
    });
    if (!sure) return;
    toast('Revoked');
    this.pages.reload();
  }

  render() {
    const { pages } = this;
    return html`
      <div class="row spread">
        <p class="muted">API keys of tenant <strong>${api.tenant}</strong>.</p>
        <button type="button" @click=${this.#new}>New key</button>
      </div>
      ${problem(pages.error)} ${!pages.ready && !pages.error ? loading() : nothing}
      ${
        pages.ready && pages.items.length === 0
          ? empty({
              title: 'No keys yet besides the bootstrap admin key',
              text: 'Producers and workers need a key.',
              curl: curl('POST', '/v1/keys', { name: 'my service', role: 'producer' }),
            })
          : nothing
      }
      ${pages.items.length > 0 ? this.#table() : nothing}
      <c-pager .pages=${pages}></c-pager>
    `;
  }

  #table() {
    return html`<div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Role</th>
            <th scope="col">Types</th>
            <th scope="col">Status</th>
            <th scope="col">Created</th>
            <th scope="col">Expires</th>
            <th scope="col"><span class="unseen">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          ${this.pages.items.map((key) => this.#row(key))}
        </tbody>
      </table>
    </div>`;
  }

  #row(key) {
    return html`<tr>
      <th scope="row">
        <div>
          ${visible(key.name)} ${key.id === api.caller.key ? html`<small>(yours)</small>` : nothing}<br /><small
            class="mono"
            >${key.id}</small
          >
        </div>
      </th>
      <td data-label="Role">${key.role}</td>
      <td data-label="Types">${key.types.length === 0 ? 'all' : key.types.join(', ')}</td>
      <td data-label="Status">${state(key)}</td>
      <td data-label="Created">${time(key.createdAt)}</td>
      <td data-label="Expires">${key.revokedAt ? ago(key.revokedAt) : key.expiresAt ? ago(key.expiresAt) : 'never'}</td>
      <td>
        ${
          key.revokedAt
            ? nothing
            : html`<div class="row">
                <button type="button" class="small outline danger" @click=${() => this.#revoke(key)}>Revoke</button>
              </div>`
        }
      </td>
    </tr>`;
  }
}
customElements.define('c-keys', Keys);
