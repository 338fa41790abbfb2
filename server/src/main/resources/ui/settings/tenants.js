// <c-tenants>: every tenant, for admins.

import { LitElement, html, nothing } from 'lit';
import { api, isTransient, path } from '../api.js';
import { badge, count, setDuration, visible } from '../format.js';
import { live } from '../live.js';
import { ask, loading, problem, toast } from '../parts.js';

const alertKind = (tenant) => {
  if (tenant.alert === undefined) return 'default';
  return tenant.alert === null ? 'off' : 'own';
};

const LIMITS = [
  ['maxTypes', 'Types'],
  ['maxLanes', 'Lanes'],
  ['maxSchedules', 'Schedules'],
  ['maxKeys', 'Keys'],
];

const lines = (text) =>
  text
    .split('\n')
    .map((line) => line.trim())
    .filter((line) => line !== '');

const find = async (name) => (await api.get(path`/v1/tenants/${name}`)).data;

/** @returns the tenant, or null */
const findAny = async (name) => {
  try {
    return await find(name);
  } catch (e) {
    if (e.status === 404) return null;
    throw e;
  }
};

/** A PUT replaces all settings of a tenant and the API has no If-Match for it, so compare first. */
const refuseIfChanged = async (name, before) => {
  const now = await findAny(name);
  if (JSON.stringify(now) === JSON.stringify(before)) return;
  throw before
    ? Object.assign(new Error(), {
        title: 'Changed by someone else',
        detail: 'Not saved. Close this dialog and edit the current version.',
      })
    : Object.assign(new Error(), {
        title: 'A tenant with this name already exists',
        detail: 'Choose another name, or edit the existing one.',
      });
};

class Tenants extends LitElement {
  static properties = { items: { state: true }, error: { state: true } };

  #asking = false;
  #end = null;

  constructor() {
    super();
    this.items = null;
    this.error = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#end = live.onReturn(() => isTransient(this.error) && this.#load());
    this.#load();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#end();
  }

  async #load() {
    try {
      this.items = (await api.get('/v1/tenants')).data.items;
      this.error = null;
    } catch (e) {
      this.error = e;
    }
  }

  /** @param name null for a new one */
  async #edit(name) {
    if (this.#asking) return;
    this.#asking = true;
    try {
      const tenant = name === null ? null : await find(name); // the list may be stale
      this.error = null;
      await this.#ask(tenant);
    } catch (e) {
      this.error = e;
    }
    this.#asking = false;
  }

  async #ask(tenant) {
    const saved = await ask({
      title: tenant ? `Tenant ${tenant.name}` : 'New tenant',
      action: tenant ? 'Save' : 'Create tenant',
      body: this.#form(tenant ?? {}, tenant === null),
      submit: (form) => this.#save(form, tenant),
    });
    if (!saved) return;
    toast(`${tenant ? 'Saved' : 'Created'} ${saved.name}`);
    api.dispatchEvent(new Event('tenants'));
    await this.#load();
  }

  #form(tenant, isNew) {
    const alert = tenant.alert ?? {};
    const option = (value, text, selected) =>
      html`<option value=${value} .selected=${value === selected}>${text}</option>`;
    return html`
      ${
        isNew
          ? html`<label
              >Name
              <input name="name" required pattern="[a-z0-9][a-z0-9\\-]{0,62}" autocomplete="off" placeholder="acme" />
              <small>Lower-case letters, digits and dashes.</small>
            </label>`
          : nothing
      }
      <fieldset>
        <label><input type="checkbox" name="paused" ?checked=${tenant.paused} /> Paused: no task starts</label>
        <label><input type="checkbox" name="strict" ?checked=${tenant.strict} /> Strict: only existing types</label>
      </fieldset>
      <label
        >Dead-letter alerts
        <select name="alert">
          ${option('default', 'Default (--alert-url)', alertKind(tenant))} ${option('off', 'Off', alertKind(tenant))}
          ${option('own', 'Webhook:', alertKind(tenant))}
        </select>
      </label>
      <div class="fields">
        <label
          >Webhook URL <input name="url" type="url" placeholder="https://" .value=${alert.target?.http?.url ?? ''}
        /></label>
        <label
          >Failures <input name="deaths" type="number" min="1" max="10000" .value=${String(alert.deaths ?? 10)}
        /></label>
        <label>Window <input name="within" .value=${setDuration(alert.within ?? 'PT5M')} /></label>
      </div>
      <label
        >Broker destinations
        <select name="publishes">
          ${option(
            'default',
            'Default (all for tenant “default”, none for others)',
            tenant.publish ? 'these' : 'default',
          )}
          ${option('these', 'Only these', tenant.publish ? 'these' : 'default')}
        </select>
      </label>
      <label
        >Destinations, one per line
        <textarea
          name="publish"
          rows="2"
          spellcheck="false"
          placeholder="kafka/main/orders.*"
          .value=${(tenant.publish ?? []).join('\n')}
        ></textarea>
      </label>
      <fieldset>
        <legend>Limits that differ from the server's</legend>
        <div class="fields">
          ${LIMITS.map(
            ([field, label]) =>
              html`<label
                >${label}
                <input name=${field} type="number" min="1" max="1000000" .value=${String(tenant[field] ?? '')}
              /></label>`,
          )}
        </div>
      </fieldset>
    `;
  }

  async #save(form, tenant) {
    const body = {
      paused: form.has('paused'),
      strict: form.has('strict'),
    };
    if (tenant?.weight !== undefined) body.weight = tenant.weight; // a PUT without it would reset it
    if (form.get('alert') === 'off') body.alert = null;
    if (form.get('alert') === 'own') {
      // Keep the settings of the target that the form does not show.
      const http = { ...tenant?.alert?.target?.http, url: form.get('url') };
      body.alert = { target: { http }, deaths: Number(form.get('deaths')), within: form.get('within') };
    }
    if (form.get('publishes') === 'these') body.publish = lines(form.get('publish'));
    for (const [field] of LIMITS) {
      if (form.get(field)) body[field] = Number(form.get(field));
    }
    const name = tenant?.name ?? form.get('name');
    await refuseIfChanged(name, tenant);
    return (await api.put(path`/v1/tenants/${name}`, body)).data;
  }

  render() {
    return html`
      <div class="row spread">
        <p class="muted">Tenants are isolated from each other. Switch tenants at the top right.</p>
        <button type="button" @click=${() => this.#edit(null)}>New tenant</button>
      </div>
      ${problem(this.error)} ${this.items ? this.#table() : this.error ? nothing : loading()}
    `;
  }

  #table() {
    return html`<div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Name</th>
            <th scope="col">Status</th>
            <th scope="col">Types</th>
            <th scope="col">Alerts</th>
            <th scope="col">Broker destinations</th>
            <th scope="col"><span class="unseen">Actions</span></th>
          </tr>
        </thead>
        <tbody>
          ${this.items.map((tenant) => this.#row(tenant))}
        </tbody>
      </table>
    </div>`;
  }

  #row(tenant) {
    const alert = tenant.alert;
    return html`<tr>
      <th scope="row">${tenant.name}</th>
      <td data-label="Status">${tenant.paused ? badge('warn', '‖', 'Paused') : badge('ok', '✓', 'Active')}</td>
      <td data-label="Types">${tenant.strict ? 'existing only' : 'any'}</td>
      <td data-label="Alerts">
        ${
          alert === undefined
            ? 'default'
            : alert === null
              ? 'none'
              : html`<span title=${visible(alert.target.http.url)}
                  >${count(alert.deaths)} failures in ${setDuration(alert.within)}</span
                >`
        }
      </td>
      <td data-label="Broker destinations">
        ${
          tenant.publish
            ? tenant.publish.length === 0
              ? 'none'
              : visible(tenant.publish.join(', '))
            : tenant.name === 'default'
              ? 'all'
              : 'none'
        }
      </td>
      <td>
        <div class="row">
          <button type="button" class="small outline" @click=${() => this.#edit(tenant.name)}>Edit</button>
        </div>
      </td>
    </tr>`;
  }
}
customElements.define('c-tenants', Tenants);
