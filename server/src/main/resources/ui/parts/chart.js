// <c-chart>: lines and bars on a canvas, with the same numbers in a table.

import '../lib/chart.js/chart.umd.min.js';
import { LitElement, html, nothing } from 'lit';
import { compact, span, timeText } from '../format.js';

const { Chart } = globalThis;

const calm = matchMedia('(prefers-reduced-motion: reduce)');

/** A single point between gaps is drawn as a dot, because a line needs two. */
const isAlone = (values, at) => (values[at - 1] ?? null) === null && (values[at + 1] ?? null) === null;

const isTime = (label) => /^\d{4}-\d\d-\d\dT/.test(label);

const tick = (label) => (isTime(label) ? timeText(label).replace(/:\d\d$/, '') : label);

const fullLabel = (label) => (isTime(label) ? timeText(label) : label);

const UNITS = {
  seconds: (n) => span(n),
  number: (n) => compact(n),
};

/**
 * @property {{name: string, values: (number|null)[], tone?: string}[]} series a
 *     tone is one of the colours of tokens.css: ok, dead, running, pending, off, a, b, c
 * @property {string[]} labels times (ISO) or texts
 * @property {'line'|'bar'|'stacked'} kind stacked: bars on top of each other
 * @property {'number'|'seconds'|string} unit any other text follows the number
 * @property {string} label what it shows, for screen readers and as the label of the table
 */
class ChartPart extends LitElement {
  static properties = {
    series: { attribute: false },
    labels: { attribute: false },
    kind: {},
    unit: {},
    label: {},
    tableOpen: { state: true },
  };

  #chart = null;
  #shape = '';
  #redraw = () => this.#draw(true);

  constructor() {
    super();
    this.series = [];
    this.labels = [];
    this.kind = 'line';
    this.unit = 'number';
    this.label = 'Chart';
    this.tableOpen = false;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    document.addEventListener('themechange', this.#redraw);
    if (this.hasUpdated) this.requestUpdate();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    document.removeEventListener('themechange', this.#redraw);
    this.#chart?.destroy();
    this.#chart = null;
  }

  #format(value) {
    if (value === null || value === undefined) return '–';
    return UNITS[this.unit]?.(value) ?? `${compact(value)} ${this.unit}`;
  }

  updated() {
    this.#draw(false);
  }

  #draw(fresh) {
    const canvas = this.querySelector('canvas');
    if (!canvas || !this.isConnected) return;
    // Chart.js keeps the colour of a bar when another series takes its place.
    const shape = [this.kind, ...this.series.map((one) => one.name)].join();
    if (this.#chart && (fresh || this.#shape !== shape)) {
      this.#chart.destroy();
      this.#chart = null;
    }
    const data = { labels: this.labels.map(tick), datasets: this.#datasets() };
    if (this.#chart) {
      this.#chart.data.labels = data.labels;
      data.datasets.forEach((each, i) => {
        this.#chart.data.datasets[i] = Object.assign(this.#chart.data.datasets[i] ?? {}, each);
      });
      this.#chart.data.datasets.length = data.datasets.length;
      this.#chart.update('none');
      return;
    }
    this.#shape = shape;
    this.#chart = new Chart(canvas, {
      type: this.kind === 'line' ? 'line' : 'bar',
      data,
      options: this.#options(),
    });
  }

  #datasets() {
    const css = getComputedStyle(this);
    const order = ['a', 'b', 'c', 'ok', 'dead', 'running'];
    const isLine = this.kind === 'line';
    return this.series.map((one, i) => {
      const colour = css.getPropertyValue(`--tone-${one.tone ?? order[i % order.length]}`).trim();
      return {
        label: one.name,
        data: one.values,
        borderColor: colour,
        backgroundColor: isLine ? `${colour}38` : colour, // tones are written #rrggbb
        borderWidth: isLine ? 1.75 : 0,
        pointRadius: one.values.map((_, at) => (isAlone(one.values, at) ? 2 : 0)),
        pointHitRadius: 8,
        spanGaps: false,
      };
    });
  }

  /** @returns {ChartOptions} */
  #options() {
    const css = getComputedStyle(this);
    const grid = css.getPropertyValue('--line').trim();
    const text = css.getPropertyValue('--muted').trim();
    const stacked = this.kind === 'stacked';
    return {
      responsive: true,
      maintainAspectRatio: false,
      animation: calm.matches ? false : { duration: 200 },
      interaction: { mode: 'index', intersect: false },
      font: { family: css.fontFamily },
      scales: {
        x: {
          grid: { display: false },
          border: { color: grid },
          ticks: { color: text, maxRotation: 0, autoSkipPadding: 24 },
          stacked,
        },
        y: {
          beginAtZero: true,
          stacked,
          grid: { color: grid },
          border: { display: false },
          ticks: { color: text, maxTicksLimit: 5, callback: (value) => this.#format(value) },
        },
      },
      plugins: {
        legend: {
          display: this.series.length > 1,
          position: 'bottom',
          labels: { color: text, boxWidth: 10, boxHeight: 10, usePointStyle: true, pointStyle: 'rectRounded' },
        },
        tooltip: {
          callbacks: {
            title: (items) => (items.length > 0 ? fullLabel(this.labels[items[0].dataIndex]) : ''),
            label: (item) => ` ${item.dataset.label}: ${this.#format(item.raw)}`,
          },
        },
      },
    };
  }

  #summary() {
    const parts = this.series.map((one) => {
      const values = one.values.filter((value) => value !== null);
      if (values.length === 0) return `${one.name}: no data`;
      return `${one.name}: latest ${this.#format(values.at(-1))}, max ${this.#format(Math.max(...values))}`;
    });
    return `${this.label}. ${parts.join('; ')}`;
  }

  #table() {
    if (!this.tableOpen) return nothing;
    return html`<div class="scroll" tabindex="0" role="region" aria-label="${this.label}, as a table">
      <table>
        <thead>
          <tr>
            <th scope="col">${isTime(this.labels[0] ?? '') ? 'time' : ''}</th>
            ${this.series.map((one) => html`<th scope="col" class="num">${one.name}</th>`)}
          </tr>
        </thead>
        <tbody>
          ${this.labels.map(
            (label, i) =>
              html`<tr>
                <th scope="row">${fullLabel(label)}</th>
                ${this.series.map((one) => html`<td class="num">${this.#format(one.values[i])}</td>`)}
              </tr>`,
          )}
        </tbody>
      </table>
    </div>`;
  }

  render() {
    return html`<figure class="chart">
      <div class="chart-canvas"><canvas role="img" aria-label=${this.#summary()}></canvas></div>
      <details @toggle=${(e) => (this.tableOpen = e.target.open)}>
        <summary><small>Show as table</small></summary>
        ${this.#table()}
      </details>
    </figure>`;
  }
}
customElements.define('c-chart', ChartPart);
