// <c-activity>: charts of outcomes and start delay over the last hour or day.

import { LitElement, html, nothing } from 'lit';
import { api, isFinal, isTransient } from '../api.js';
import { seconds } from '../format.js';
import { live } from '../live.js';
import { problem } from '../parts.js';
import '../parts/chart.js';

const REFRESH_INTERVAL = { hour: 60_000, day: 300_000 };

const OUTCOMES = [
  ['completed', 'completed', 'ok'],
  ['retried', 'retried', 'warn'],
  ['dead', 'dead', 'dead'],
  ['cancelled', 'cancelled', 'off'],
  ['expired', 'expired', 'pending'],
];

const PERCENTILES = [
  ['p50', 'p50', 'a'],
  ['p95', 'p95', 'c'],
  ['p99', 'p99', 'b'],
];

/** The series with the newest point of the stream; only a series of minutes can take it. */
const withNow = (series, now) => {
  if (!series || !now || series.step !== 'PT1M') return series;
  const points = series.points.filter((point) => point.at < now.at);
  const grown = points.length < series.points.length ? points : points.slice(1);
  return { ...series, points: [...grown, now] };
};

class Activity extends LitElement {
  static properties = {
    /** The name of a type; empty for all types. */
    type: { type: String },
    span: { state: true },
    series: { state: true },
    missing: { state: true },
    error: { state: true },
  };

  #ends = [];
  #loadedAt = 0;
  #abort = null;

  constructor() {
    super();
    this.type = '';
    this.span = 'hour';
    this.series = null;
    this.missing = false;
    this.error = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    const timer = setInterval(() => this.#refreshIfDue(), 10_000);
    this.#ends.push(() => clearInterval(timer));
    this.#ends.push(live.on('stats', (stats) => this.#grow(stats)));
    this.#ends.push(live.onReturn(() => isTransient(this.error) && this.#load()));
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    this.#abort?.abort();
    this.#ends.splice(0).forEach((end) => end());
  }

  willUpdate(changed) {
    if (changed.has('type') || changed.has('span')) this.#load();
  }

  #refreshIfDue() {
    if (!document.hidden && !this.missing && Date.now() - this.#loadedAt > REFRESH_INTERVAL[this.span]) this.#load();
  }

  // The stream has the current minute of all types only.
  #grow(stats) {
    if (!this.type) this.series = withNow(this.series, stats.now);
  }

  async #load() {
    this.#loadedAt = Date.now();
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const query = { window: this.span, type: this.type };
      const { data } = await api.get('/v1/stats/series', { query, signal: abort.signal });
      this.series = data;
      this.error = null;
      this.missing = false;
    } catch (e) {
      if (abort.signal.aborted) return;
      this.missing = isFinal(e);
      this.error = this.missing ? null : e;
    }
  }

  #choice(span, text) {
    return html`<button
      type="button"
      class="small ${this.span === span ? '' : 'outline secondary'}"
      aria-pressed=${this.span === span}
      @click=${() => (this.span = span)}
    >
      ${text}
    </button>`;
  }

  render() {
    if (this.missing) return nothing;
    const points = this.series?.points ?? [];
    const labels = points.map((point) => point.at);
    const used = OUTCOMES.filter(([key], i) => i === 0 || key === 'dead' || points.some((point) => point[key] > 0));
    const outcomes = used.map(([key, name, tone]) => ({ name, tone, values: points.map((point) => point[key]) }));
    const startDelay = PERCENTILES.map(([key, name, tone]) => ({
      name,
      tone,
      values: points.map((point) => seconds(point.lateness?.[key])),
    }));
    const step = this.series?.step === 'PT5M' ? '5 minutes' : 'minute';
    return html`
      <div class="row spread">
        <h2>Activity</h2>
        <div class="row" role="toolbar" aria-label="Time range">
          ${this.#choice('hour', 'Last hour')} ${this.#choice('day', 'Last 24 hours')}
        </div>
      </div>
      ${problem(this.error)}
      <div class="pair">
        <section class="card" aria-label="Tasks per ${step}">
          <h3>Tasks per ${step}</h3>
          <c-chart
            .series=${outcomes}
            .labels=${labels}
            kind="stacked"
            unit="number"
            label="Tasks per ${step}, by outcome"
          ></c-chart>
        </section>
        <section class="card" aria-label="Start delay">
          <h3>Start delay</h3>
          <c-chart .series=${startDelay} .labels=${labels} kind="line" unit="seconds" label="Start delay"></c-chart>
        </section>
      </div>
    `;
  }
}
customElements.define('c-activity', Activity);
