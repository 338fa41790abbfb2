// Formats times (in the browser's zone, with UTC on hover), durations, numbers and states.

import { LitElement, html } from 'lit';

export const MONTHS = ['Jan', 'Feb', 'Mar', 'Apr', 'May', 'Jun', 'Jul', 'Aug', 'Sep', 'Oct', 'Nov', 'Dec'];
const NONE = '–';

const two = (n) => String(n).padStart(2, '0');

const clock = (at) => `${two(at.getHours())}:${two(at.getMinutes())}:${two(at.getSeconds())}`;

const day = (at) => {
  const year = at.getFullYear() === new Date().getFullYear() ? '' : ` ${at.getFullYear()}`;
  return `${at.getDate()} ${MONTHS[at.getMonth()]}${year}`;
};

const parse = (iso) => {
  const at = new Date(iso);
  return iso && !Number.isNaN(at.getTime()) ? at : null;
};

const utc = (at) => `${at.toISOString().replace('T', ' ').replace('Z', '')} UTC`;

/** '14:05:09' today, else '16 Nov 14:05:09'; plain text, for titles and options. */
export const timeText = (iso) => {
  const at = parse(iso);
  if (!at) return NONE;
  return at.toDateString() === new Date().toDateString() ? clock(at) : `${day(at)} ${clock(at)}`;
};

const element = (iso, text) => {
  const at = parse(iso);
  return at ? html`<time datetime=${at.toISOString()} title=${utc(at)}>${text(at)}</time>` : NONE;
};

/** A time as an element, with UTC on hover. */
export const time = (iso) => element(iso, () => timeText(iso));

/** A time with its day even if that is today: for the ends of a range. */
export const datedTime = (iso) => element(iso, (at) => `${day(at)} ${clock(at)}`);

/** An instant as the value of a datetime-local input, in the browser's zone. */
export const localTime = (iso) => {
  const at = parse(iso);
  return at ? `${at.getFullYear()}-${two(at.getMonth() + 1)}-${two(at.getDate())}T${clock(at)}` : '';
};

/** The instant of a datetime-local input; empty if it has none. */
export const instant = (local) => parse(local)?.toISOString() ?? '';

/** @type {[number, string][]} seconds */
const STEPS = [
  [86_400, 'd'],
  [3_600, 'h'],
  [60, 'm'],
];

/** 7265 -> '2 h 1 m'; the two largest parts. */
export const span = (seconds) => {
  const all = Math.abs(seconds);
  if (all < 0.001) return all === 0 ? '0 s' : '< 1 ms';
  if (all < 1) return `${Math.round(all * 1000)} ms`;
  if (all < 60) return `${all < 10 ? Math.round(all * 10) / 10 : Math.round(all)} s`;
  let rest = Math.round(all);
  const parts = [];
  for (const [size, name] of STEPS) {
    if (rest >= size) parts.push(`${Math.floor(rest / size)} ${name}`);
    rest %= size;
  }
  if (rest > 0) parts.push(`${rest} s`);
  return parts.slice(0, 2).join(' ');
};

/** An ISO duration ('PT1M30S', '-PT0.5S', 'P7D') in seconds, or null. */
export const seconds = (iso) => {
  const match = /^([-+]?)P(?:(-?\d+)D)?(?:T(?:(-?\d+)H)?(?:(-?\d+)M)?(?:(-?[\d.]+)S)?)?$/.exec(iso ?? '');
  if (!match) return null;
  const [, sign, d, h, m, s] = match;
  const sum = Number(d ?? 0) * 86_400 + Number(h ?? 0) * 3_600 + Number(m ?? 0) * 60 + Number(s ?? 0);
  return sign === '-' ? -sum : sum;
};

/** 'PT1M30S' -> '1 m 30 s'. */
export const duration = (iso) => {
  const length = seconds(iso);
  if (length === null) return NONE;
  return (length <= -0.001 ? '-' : '') + span(length);
};

/** @type {[number, string][]} milliseconds */
const DURATION_UNITS = [
  [86_400_000, 'd'],
  [3_600_000, 'h'],
  [60_000, 'm'],
  [1_000, 's'],
  [1, 'ms'],
];

/** A duration of a setting, as people type it and as the API reads it too: 'PT1M30S' -> '90s'. */
export const setDuration = (iso) => {
  const length = seconds(iso);
  if (length === null) return iso ?? '';
  const ms = Math.round(length * 1000);
  if (ms === 0) return '0s';
  const [size, unit] = DURATION_UNITS.find(([each]) => ms % each === 0);
  return `${ms / size}${unit}`;
};

/** '3 m ago' or 'in 3 m', as text. */
export const agoText = (iso) => {
  const at = parse(iso);
  if (!at) return NONE;
  const length = (Date.now() - at.getTime()) / 1000;
  if (Math.abs(length) < 1.5) return 'now';
  const [first, next] = span(Math.max(1, Math.round(Math.abs(length)))).match(/\S+ \S+/g);
  const text = Math.abs(length) > 7_200 || !next ? first : `${first} ${next}`;
  return length > 0 ? `${text} ago` : `in ${text}`;
};

/** Shows a relative time and keeps it current; all of them share one timer. */
class Ago extends LitElement {
  static properties = { at: { attribute: false } };
  static #shown = new Set();
  static #timer = null;

  constructor() {
    super();
    /** @type {string | undefined} */
    this.at = undefined;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    Ago.#shown.add(this);
    Ago.#timer ??= setInterval(() => Ago.#shown.forEach((each) => each.requestUpdate()), 1000);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    Ago.#shown.delete(this);
    if (Ago.#shown.size === 0) {
      clearInterval(Ago.#timer);
      Ago.#timer = null;
    }
  }

  render() {
    const at = parse(this.at);
    if (!at) return NONE;
    return html`<time datetime=${at.toISOString()} title="${timeText(this.at)} · ${utc(at)}"
      >${agoText(this.at)}</time
    >`;
  }
}
customElements.define('c-ago', Ago);

/** '3 m ago' or 'in 3 m', kept current, with both times on hover. */
export const ago = (iso) => html`<c-ago .at=${iso}></c-ago>`;

const WHOLE = new Intl.NumberFormat('en-US');
const SHORT = new Intl.NumberFormat('en-US', { notation: 'compact', maximumSignificantDigits: 3 });

/** 12345 -> '12,345'. */
export const count = (n) => (n === null || n === undefined ? NONE : WHOLE.format(n));

/** 12345 -> '12.3K'. */
export const compact = (n) => (n === null || n === undefined ? NONE : SHORT.format(n));

const UNITS = ['B', 'KiB', 'MiB', 'GiB', 'TiB', 'PiB'];

/** 1536 -> '1.5 KiB'. */
export const bytes = (n) => {
  if (n === null || n === undefined) return NONE;
  let value = n;
  let unit = 0;
  while (value >= 1024 && unit < UNITS.length - 1) {
    value /= 1024;
    unit++;
  }
  return `${unit > 0 && value < 10 ? value.toFixed(1) : Math.round(value)} ${UNITS[unit]}`;
};

/** (1, 'task') -> '1 task', (2, 'task') -> '2 tasks'. */
export const plural = (n, one, many = `${one}s`) => `${count(n)} ${n === 1 ? one : many}`;

// Shape and word carry the same meaning as the colour.
const STATES = {
  PENDING: ['pending', '○', 'Pending'],
  SCHEDULED: ['pending', '○', 'Scheduled'],
  READY: ['pending', '◉', 'Ready'],
  OVERDUE: ['warn', '!', 'Overdue'],
  RETRYING: ['warn', '↻', 'Retrying'],
  CANCELLING: ['off', '⊘', 'Cancelling'],
  RUNNING: ['running', '▶', 'Running'],
  COMPLETED: ['ok', '✓', 'Completed'],
  DEAD: ['dead', '✕', 'Dead'],
  CANCELLED: ['off', '⊘', 'Cancelled'],
  EXPIRED: ['off', '⊖', 'Expired'],
};

/** A badge with a shape, a colour and the word. */
export const badge = (tone, shape, text) =>
  html`<span class="badge badge-${tone}"><span aria-hidden="true">${shape}</span> ${text}</span>`;

/** The badge of a task's status, or of its state. */
export const status = (name) => badge(...(STATES[name] ?? ['off', '·', name ?? NONE]));

const OVERDUE_AFTER = 60_000;

/**
 * A task's state as people see it: PENDING is one of four, RUNNING one of two.
 *
 * @param {any} task
 * @param {boolean} [isPaused] whether its type is paused: then it is never overdue
 */
export const stateOf = (task, isPaused = false) => {
  if (task.status === 'RUNNING' && task.cancelRequested) return 'CANCELLING';
  if (task.status !== 'PENDING') return task.status;
  const waited = Date.now() - Date.parse(task.nextAttemptAt);
  if (waited < -1000) return task.attempt > 0 ? 'RETRYING' : 'SCHEDULED';
  return waited > OVERDUE_AFTER && !isPaused ? 'OVERDUE' : 'READY';
};

// Invisible characters, and those that change the direction of text, are shown by their code.
const HIDDEN =
  // eslint-disable-next-line no-control-regex
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** Text of tenants with its hidden characters visible: '␛' for an escape, '⟨202E⟩' for a right-to-left override. */
export const visible = (text) =>
  String(text ?? '').replace(HIDDEN, (c) => {
    const code = c.charCodeAt(0);
    if (code < 0x20) return String.fromCharCode(0x2400 + code);
    return `⟨${code.toString(16).toUpperCase().padStart(4, '0')}⟩`;
  });

/** The first line, shortened; for cells. */
export const firstLine = (text, most = 140) => {
  const line = visible(text).trimStart().split('\n', 1)[0];
  return line.length > most ? `${line.slice(0, most - 1)}…` : line;
};
