// The tables of the overview: types, and for admins tenants.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { badge, count, duration, plural, seconds } from '../format.js';
import { sortHead, sorted } from '../parts/sorting.js';
import { href } from '../router.js';
import { wait } from './tiles.js';

const MAX_TENANTS = 50;

const num = (label, value) => html`<td class="num" data-label=${label}>${value}</td>`;

const ofType = (type, key) =>
  ({
    oldest: type.oldestDue ? -Date.parse(type.oldestDue) : null,
    completed: type.hour?.completed,
    died: type.hour?.dead,
    retried: type.hour?.retried,
    p95: seconds(type.hour?.lateness?.p95),
  })[key] ?? type[key];

const typeRow = (type, at) => {
  const quiet = (n) => (n ? count(n) : html`<span class="muted">0</span>`);
  return html`<tr>
    <th scope="row">
      <div>
        <a href=${href('types', type.type)}>${type.type}</a> ${type.paused ? badge('warn', '‖', 'Paused') : nothing}
      </div>
    </th>
    ${num('Ready', type.due ? `${count(type.due)}${type.dueAtLeast ? '+' : ''}` : quiet(0))}
    ${num('Oldest', wait(at, type.oldestDue) ?? html`<span class="muted">–</span>`)}
    ${num('In flight', quiet(type.running))} ${num('Pending', quiet(type.pending))}
    ${num(
      'Dead',
      type.dead
        ? html`<a class="bad" href=${href('dead-letters', { type: type.type })}>${count(type.dead)}</a>`
        : quiet(0),
    )}
    ${num('Completed (1h)', quiet(type.hour?.completed))} ${num('Retries (1h)', quiet(type.hour?.retried))}
    ${num('Dead (1h)', quiet(type.hour?.dead))} ${num('Start delay p95', duration(type.hour?.lateness?.p95))}
  </tr>`;
};

/** Every type with its figures; `host.sort` is the column and the direction. */
export const typeTable = (host, { types = [], moreTypes = 0, seenAt }) => {
  if (types.length === 0) return nothing;
  const head = (key, text) => sortHead(host, key, text, 'num');
  return html`<section aria-labelledby="types">
    <h2 id="types">Types</h2>
    <div class="table numbers">
      <table>
        <thead>
          <tr>
            ${sortHead(host, 'type', 'Type')} ${head('due', 'Ready')} ${head('oldest', 'Oldest')}
            ${head('running', 'In flight')} ${head('pending', 'Pending')} ${head('dead', 'Dead')}
            ${head('completed', 'Completed (1h)')} ${head('retried', 'Retries (1h)')} ${head('died', 'Dead (1h)')}
            ${head('p95', 'Start delay p95')}
          </tr>
        </thead>
        <tbody>
          ${sorted(types, host.sort, ofType).map((type) => typeRow(type, seenAt.due))}
        </tbody>
      </table>
    </div>
    ${
      moreTypes > 0
        ? html`<p class="muted"><a href=${href('types')}>${plural(moreTypes, 'more type')}</a></p>`
        : nothing
    }
  </section>`;
};

/** Every tenant with its figures, for admins. */
export const tenantTable = ({ at, items }) => {
  if (items.length < 2) return nothing;
  return html`<section aria-labelledby="tenants">
    <h2 id="tenants">Tenants</h2>
    <div class="table numbers">
      <table>
        <thead>
          <tr>
            <th scope="col">Tenant</th>
            ${['Ready', 'Oldest', 'In flight', 'Pending', 'Dead', 'Completed (1h)', 'Dead (1h)'].map(
              (text) => html`<th scope="col" class="num">${text}</th>`,
            )}
          </tr>
        </thead>
        <tbody>
          ${items.slice(0, MAX_TENANTS).map(
            (tenant) =>
              html`<tr>
                <th scope="row">
                  <div>
                    <button
                      type="button"
                      class="link"
                      @click=${() => (api.tenant = tenant.tenant)}
                      title="Switch to this tenant"
                    >
                      ${tenant.tenant}
                    </button>
                    ${tenant.tenant === api.tenant ? html`<span class="muted">current</span>` : nothing}
                    ${tenant.paused ? badge('warn', '‖', 'Paused') : nothing}
                  </div>
                </th>
                ${num('Ready', count(tenant.due))} ${num('Oldest', wait(at, tenant.oldestDue) ?? '–')}
                ${num('In flight', count(tenant.running))} ${num('Pending', count(tenant.pending))}
                ${num('Dead', count(tenant.dead))} ${num('Completed (1h)', count(tenant.hour?.completed))}
                ${num('Dead (1h)', count(tenant.hour?.dead))}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
    ${
      items.length > MAX_TENANTS
        ? html`<p class="muted">
            <small>Top ${MAX_TENANTS} of ${count(items.length)} tenants by activity.</small>
          </p>`
        : nothing
    }
  </section>`;
};
