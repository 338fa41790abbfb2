// #/overview: how it goes, and what needs somebody.

import { html, nothing } from 'lit';
import { api, curlIf, ownType } from '../api.js';
import { ago, badge, compact, count, duration, plural, seconds, span } from '../format.js';
import { empty, loading, problem, tile } from '../parts.js';
import { Page } from '../page.js';
import { href } from '../router.js';
import { fromStats, look, lookAtDeaths, ranked } from '../overview/attention.js';
import { sortHead, sorted } from '../parts/sorting.js';
import '../overview/activity.js';

const LOOK_AGAIN = 30_000;
const LOOK_AT_DEATHS_AGAIN = 5_000;
const PAUSE_PER_LOOK = 20; // so looks take a twentieth of the time at most, however slow they are
const MOST_TENANTS = 50;

const FIRST_TASK = {
  payload: { text: 'Hello' },
  target: { discard: {} },
};

/** 1234.5 -> '1.23K', 3.14159 -> '3.1', 0 -> '0'. */
const rate = (n) => (n === null || n === undefined ? '–' : compact(n < 10 ? Math.round(n * 10) / 10 : Math.round(n)));

const atLeast = (n, isMore) => `${compact(n)}${isMore ? '+' : ''}`;

const wait = (now, oldest) => (oldest ? span((Date.parse(now) - Date.parse(oldest)) / 1000) : null);

const latenessTile = (last) => {
  const [some, when] = last.minute.lateness?.p50 ? [last.minute, '1m'] : [last.hour, '1h'];
  const { p50, p95, p99 } = some.lateness ?? {};
  const note = p50
    ? html`p95 ${duration(p95)} · p99 ${duration(p99)} (${when})`
    : 'no tasks started in the last hour';
  return tile('Start delay p50', p50 ? duration(p50) : '–', note);
};

const tiles = (stats) => {
  const { last, status, due } = stats;
  const oldest = wait(stats.seenAt.due, due.oldest);
  return html`<dl class="tiles">
    ${tile('Throughput (1m)', html`${rate(last.minute.perSecond)}<small> /s</small>`, `${plural(last.minute.completed, 'task')} completed`)}
    ${tile('Completed (1h)', compact(last.hour.completed), `${compact(last.day.completed)} in 24h`)}
    ${tile('Dead (1h)', compact(last.hour.dead), html`${compact(last.hour.retried)} retries, <a href=${href('dead-letters')}>${plural(status.DEAD, 'dead letter')}</a>`)}
    ${latenessTile(last)}
    ${tile('Ready', atLeast(due.tasks, due.atLeast), oldest ? `oldest waiting ${oldest}` : 'queue empty')}
    ${tile('In flight', atLeast(status.RUNNING, stats.runningIsAtLeast), 'running now', href('tasks', { status: 'RUNNING' }))}
    ${tile('Pending', compact(status.PENDING), stats.pendingCountedAt ? html`updated ${ago(stats.pendingCountedAt)}` : 'counting…', href('tasks', { status: 'PENDING' }))}
  </dl>`;
};

const TONES = { bad: ['dead', '✕', 'Critical'], warn: ['warn', '!', 'Warning'], info: ['off', 'i', 'Info'] };

const attentionRow = (item) =>
  html`<li class="attention attention-${item.tone}">
    ${badge(...TONES[item.tone])}
    <span class="attention-text"><strong>${item.what}</strong> <span class="muted">${item.text()}</span></span>
    <a href=${item.href}>${item.mend}<span class="unseen">: ${item.what}</span></a>
  </li>`;

const ofType = (type, key) =>
  ({
    oldest: type.oldestDue ? -Date.parse(type.oldestDue) : null,
    completed: type.hour?.completed,
    died: type.hour?.dead,
    retried: type.hour?.retried,
    p95: seconds(type.hour?.lateness?.p95),
  })[key] ?? type[key];

class OverviewPage extends Page {
  static properties = {
    stats: { state: true },
    found: { state: true },
    sort: { state: true },
    statsMissing: { state: true },
  };

  #hasDied = false;
  #nextLook = Infinity;
  #nextDeaths = 0;

  constructor() {
    super();
    this.stats = null;
    this.found = null;
    /** @type {[string, boolean]} */
    this.sort = ['due', true];
    this.statsMissing = false;
  }

  get heading() {
    return 'Overview';
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen('stats', (stats) => this.#hear(stats));
    this.every(1_000, () => this.#lookAgain());
  }

  #hear(stats) {
    if (stats.last.hour.dead > (this.stats?.last.hour.dead ?? Infinity)) this.#hasDied = true;
    this.stats = stats;
  }

  async load(signal) {
    const start = Date.now();
    this.#hasDied = false;
    try {
      // The stream brings them too, but a moment later, and not where it is refused.
      const first = this.stats ? null : this.#first(signal);
      const [found] = await Promise.all([look(signal), first]);
      if (!signal.aborted) this.found = found;
    } finally {
      const end = Date.now();
      this.#nextLook = end + Math.max(LOOK_AGAIN, (end - start) * PAUSE_PER_LOOK);
    }
  }

  /** All of it from time to time; what died soon after the stream said so. */
  #lookAgain() {
    if (this.busy) return;
    if (Date.now() >= this.#nextLook) this.reload();
    else if (this.#hasDied && this.found && Date.now() >= this.#nextDeaths) this.#lookAtDeaths();
  }

  async #lookAtDeaths() {
    this.#hasDied = false;
    this.#nextDeaths = Date.now() + LOOK_AT_DEATHS_AGAIN;
    const deaths = await lookAtDeaths().catch(() => null); // the next whole look says why
    if (deaths) this.found = { ...this.found, deaths };
  }

  async #first(signal) {
    try {
      const { data } = await api.get('/v1/stats', { signal });
      this.stats ??= data;
    } catch (e) {
      if (e.status !== 404) throw e;
      this.statsMissing = true;
    }
  }

  #isEmpty() {
    const { stats } = this;
    return (
      stats &&
      stats.types.length === 0 &&
      stats.last.day.started === 0 &&
      stats.status.PENDING === 0 &&
      stats.due.tasks === 0
    );
  }

  #attention() {
    const { found } = this;
    const items = ranked([
      ...(this.stats ? fromStats(this.stats) : []),
      ...(found?.deaths ?? []),
      ...(found?.others ?? []),
    ]);
    return html`<section aria-labelledby="attention">
      <div class="row spread">
        <h2 id="attention">Needs attention</h2>
        <div class="row">
          ${found ? html`<small class="muted">updated ${ago(found.at)}</small>` : nothing}
          <button type="button" class="small outline secondary" aria-busy=${this.busy} @click=${() => this.reload()}>
            Refresh
          </button>
        </div>
      </div>
      ${
        items.length > 0
          ? html`<ul class="attentions">
              ${items.map(attentionRow)}
            </ul>`
          : this.#calm()
      }
      ${found?.note ? html`<p class="muted"><small>${found.note}</small></p>` : nothing}
    </section>`;
  }

  #calm() {
    if (this.error)
      return html`<p class="calm">
        ${badge('warn', '?', 'Unknown')} <span class="muted">could not load; retrying</span>
      </p>`;
    if (!this.found) return loading();
    return html`<p class="calm">
      ${badge('ok', '✓', 'All healthy')} <span class="muted">nothing overdue, failing, paused or unreachable</span>
    </p>`;
  }

  #types() {
    const { types = [], moreTypes = 0, seenAt } = this.stats;
    if (types.length === 0) return nothing;
    const head = (key, text) => sortHead(this, key, text, 'num');
    return html`<section aria-labelledby="types">
      <h2 id="types">Types</h2>
      <div class="table numbers">
        <table>
          <thead>
            <tr>
              ${sortHead(this, 'type', 'Type')} ${head('due', 'Ready')} ${head('oldest', 'Oldest')}
              ${head('running', 'In flight')} ${head('pending', 'Pending')} ${head('dead', 'Dead')}
              ${head('completed', 'Completed (1h)')} ${head('retried', 'Retries (1h)')} ${head('died', 'Dead (1h)')}
              ${head('p95', 'Start delay p95')}
            </tr>
          </thead>
          <tbody>
            ${sorted(types, this.sort, ofType).map((type) => this.#typeRow(type, seenAt.due))}
          </tbody>
        </table>
      </div>
      ${moreTypes > 0 ? html`<p class="muted"><a href=${href('types')}>${plural(moreTypes, 'more type')}</a></p>` : nothing}
    </section>`;
  }

  #typeRow(type, at) {
    const num = (label, value) => html`<td class="num" data-label=${label}>${value}</td>`;
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
      ${num('Dead', type.dead ? html`<a class="bad" href=${href('dead-letters', { type: type.type })}>${count(type.dead)}</a>` : quiet(0))}
      ${num('Completed (1h)', quiet(type.hour?.completed))} ${num('Retries (1h)', quiet(type.hour?.retried))}
      ${num('Dead (1h)', quiet(type.hour?.dead))} ${num('Start delay p95', duration(type.hour?.lateness?.p95))}
    </tr>`;
  }

  #tenantTable() {
    const { at, items = [] } = this.found?.tenants ?? {};
    if (items.length < 2) return nothing;
    const num = (label, value) => html`<td class="num" data-label=${label}>${value}</td>`;
    return html`<section aria-labelledby="tenants">
      <h2 id="tenants">Tenants</h2>
      <div class="table numbers">
        <table>
          <thead>
            <tr>
              <th scope="col">Tenant</th>
              ${['Ready', 'Oldest', 'In flight', 'Pending', 'Dead', 'Completed (1h)', 'Dead (1h)'].map((text) => html`<th scope="col" class="num">${text}</th>`)}
            </tr>
          </thead>
          <tbody>
            ${items.slice(0, MOST_TENANTS).map(
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
        items.length > MOST_TENANTS
          ? html`<p class="muted">
              <small>Top ${MOST_TENANTS} of ${count(items.length)} tenants by activity.</small>
            </p>`
          : nothing
      }
    </section>`;
  }

  #numbers() {
    if (!this.stats) return this.statsMissing ? nothing : loading();
    if (this.#isEmpty()) {
      return empty({
        title: 'No activity yet',
        text: api.may('TASKS_CREATE')
          ? 'Create your first task. This one completes immediately and appears here within seconds.'
          : 'Tasks that this key can read will appear here.',
        curl: curlIf('TASKS_CREATE', 'POST', '/v1/tasks', { type: ownType('hello'), ...FIRST_TASK }),
      });
    }
    return html`${tiles(this.stats)} ${this.#attention()} <c-activity></c-activity> ${this.#types()}`;
  }

  render() {
    return html`
      <h1>Overview</h1>
      ${problem(this.error)} ${this.#numbers()} ${this.stats && !this.#isEmpty() ? nothing : this.#attention()}
      ${this.#tenantTable()}
    `;
  }
}
customElements.define('page-overview', OverviewPage);
