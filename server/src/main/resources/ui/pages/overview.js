// #/overview: figures, what needs attention, charts, types and tenants.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { curlIf, ownType } from '../curl.js';
import { ago, badge } from '../format.js';
import { empty, loading, problem } from '../parts.js';
import { Page } from '../page.js';
import { findDeadLetters, findProblems, fromStats, ranked } from '../overview/attention.js';
import { tenantTable, typeTable } from '../overview/tables.js';
import { tiles } from '../overview/tiles.js';
import '../overview/activity.js';

const REFRESH_INTERVAL = 30_000;
const DEAD_LETTERS_INTERVAL = 5_000;
const REST_FACTOR = 20; // a refresh takes at most a twentieth of the time, however slow it is

const FIRST_TASK = {
  payload: { text: 'Hello' },
  target: { discard: {} },
};

const TONES = { bad: ['dead', '✕', 'Critical'], warn: ['warn', '!', 'Warning'], info: ['off', 'i', 'Info'] };

const attentionRow = (item) =>
  html`<li class="attention attention-${item.tone}">
    ${badge(...TONES[item.tone])}
    <span class="attention-text"><strong>${item.what}</strong> <span class="muted">${item.text()}</span></span>
    <a href=${item.href}>${item.action}<span class="unseen">: ${item.what}</span></a>
  </li>`;

class OverviewPage extends Page {
  static properties = {
    stats: { state: true },
    found: { state: true },
    sort: { state: true },
    statsMissing: { state: true },
  };

  #hasNewDeadLetters = false;
  #nextRefresh = Infinity;
  #nextDeadLetters = 0;

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
    this.listen('stats', (stats) => this.#onStats(stats));
    this.every(1_000, () => this.#refresh());
  }

  #onStats(stats) {
    if (stats.last.hour.dead > (this.stats?.last.hour.dead ?? Infinity)) this.#hasNewDeadLetters = true;
    this.stats = stats;
  }

  async load(signal) {
    const start = Date.now();
    this.#hasNewDeadLetters = false;
    try {
      // The stream has them too, but a moment later, and not where it is rejected.
      const first = this.stats ? null : this.#first(signal);
      const [found] = await Promise.all([findProblems(signal), first]);
      if (!signal.aborted) this.found = found;
    } finally {
      const end = Date.now();
      this.#nextRefresh = end + Math.max(REFRESH_INTERVAL, (end - start) * REST_FACTOR);
    }
  }

  /** Everything at intervals; the dead letters also soon after the stream reports new ones. */
  #refresh() {
    if (this.busy) return;
    if (Date.now() >= this.#nextRefresh) this.reload();
    else if (this.#hasNewDeadLetters && this.found && Date.now() >= this.#nextDeadLetters) this.#findDeadLetters();
  }

  async #findDeadLetters() {
    this.#hasNewDeadLetters = false;
    this.#nextDeadLetters = Date.now() + DEAD_LETTERS_INTERVAL;
    const deadLetters = await findDeadLetters().catch(() => null); // the next full refresh shows the error
    if (deadLetters) this.found = { ...this.found, deadLetters };
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
      ...(found?.deadLetters ?? []),
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
    return html`${tiles(this.stats)} ${this.#attention()} <c-activity></c-activity> ${typeTable(this, this.stats)}`;
  }

  render() {
    return html`
      <h1>Overview</h1>
      ${problem(this.error)} ${this.#numbers()} ${this.stats && !this.#isEmpty() ? nothing : this.#attention()}
      ${tenantTable(this.found?.tenants ?? { at: '', items: [] })}
    `;
  }
}
customElements.define('page-overview', OverviewPage);
