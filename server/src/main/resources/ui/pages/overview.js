// #/overview: how it goes, and what needs somebody.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { curlIf, ownType } from '../curl.js';
import { ago, badge } from '../format.js';
import { empty, loading, problem } from '../parts.js';
import { Page } from '../page.js';
import { fromStats, look, findDeadLetters, ranked } from '../overview/attention.js';
import { tenantTable, typeTable } from '../overview/tables.js';
import { tiles } from '../overview/tiles.js';
import '../overview/activity.js';

const REFRESH_INTERVAL = 30_000;
const LOOK_AT_DEATHS_AGAIN = 5_000;
const PAUSE_PER_LOOK = 20; // so looks take a twentieth of the time at most, however slow they are

const FIRST_TASK = {
  payload: { text: 'Hello' },
  target: { discard: {} },
};

const TONES = { bad: ['dead', '✕', 'Critical'], warn: ['warn', '!', 'Warning'], info: ['off', 'i', 'Info'] };

const attentionRow = (item) =>
  html`<li class="attention attention-${item.tone}">
    ${badge(...TONES[item.tone])}
    <span class="attention-text"><strong>${item.what}</strong> <span class="muted">${item.text()}</span></span>
    <a href=${item.href}>${item.mend}<span class="unseen">: ${item.what}</span></a>
  </li>`;

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
      this.#nextLook = end + Math.max(REFRESH_INTERVAL, (end - start) * PAUSE_PER_LOOK);
    }
  }

  /** All of it from time to time; what died soon after the stream said so. */
  #lookAgain() {
    if (this.busy) return;
    if (Date.now() >= this.#nextLook) this.reload();
    else if (this.#hasDied && this.found && Date.now() >= this.#nextDeaths) this.#findDeadLetters();
  }

  async #findDeadLetters() {
    this.#hasDied = false;
    this.#nextDeaths = Date.now() + LOOK_AT_DEATHS_AGAIN;
    const deaths = await findDeadLetters().catch(() => null); // the next whole look says why
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
