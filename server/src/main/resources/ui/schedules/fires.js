// The fires of a schedule, which people see as runs: as text, as marks, and as a strip of days.

import { LitElement, html, nothing } from 'lit';
import { MONTHS, agoText, badge, time, timeText } from '../format.js';
import { href } from '../router.js';

/** Tone, shape and word of each outcome; the shape carries the same meaning as the colour. */
const OUTCOMES = {
  PENDING: ['pending', '○', 'pending'],
  RUNNING: ['running', '▶', 'running'],
  COMPLETED: ['ok', '✓', 'completed'],
  DEAD: ['dead', '✕', 'dead'],
  EXPIRED: ['dead', '⊖', 'expired'],
  CANCELLED: ['off', '⊘', 'cancelled'],
  GONE: ['off', '·', 'expired from history'],
  overlap: ['skip', '≡', 'skipped: overlap'],
  paused: ['skip', '‖', 'skipped: paused'],
  window: ['missed', '!', 'missed'],
  dstGap: ['skip', '↷', 'skipped: DST gap'],
  ended: ['off', '■', 'ended'],
  next: ['next', '◦', 'upcoming'],
};

/** Why there is no task, and what to do about it. */
const REASONS = {
  overlap: ['The previous run had not finished.', 'Shorten it, or change the overlap policy.'],
  paused: ['The schedule was paused.', 'Resume it and backfill the gap.'],
  window: [
    'No node was planning at that time, and the catch-up policy does not cover it.',
    'Backfill it, or set the catch-up policy to “all”.',
  ],
  dstGap: [
    'This local time did not exist: clocks went forward.',
    'With the gap policy “shift” it runs when the gap ends.',
  ],
  ended: ['Max runs or end time reached.', 'Raise the limit to continue.'],
};

export const reasonOf = (fire) => REASONS[fire.reason] ?? null;

const keyOf = (fire) => fire.reason ?? fire.status ?? (fire.outcome === 'task' ? 'GONE' : 'next');

/** [tone, shape, word] of a fire. */
export const outcomeOf = (fire) => OUTCOMES[keyOf(fire)] ?? ['off', '·', String(keyOf(fire))];

// Badges have the tones of tasks only.
const BADGES = { missed: 'warn', skip: 'off', next: 'off' };

export const outcomeBadge = (fire) => {
  const [tone, shape, word] = outcomeOf(fire);
  return badge(BADGES[tone] ?? tone, shape, word);
};

/** Whether its outcome is final. */
export const isOver = (fire) => fire.outcome === 'skipped' || !['PENDING', 'RUNNING'].includes(fire.status);

/** '2027-03-28T03:00:00+02:00[Europe/Berlin]' -> its parts, in local time. */
export const localParts = (local) => {
  const [, date, clock, offset] = /^(\d{4,}-\d\d-\d\d)T(\d\d:\d\d(?::\d\d)?)[^+\-Z]*([^[]*)/.exec(local) ?? [];
  if (!date) return { date: '', clock: local ?? '', offset: '' };
  // Most are whole minutes; seconds are shown only where there are some.
  return { date, clock: clock.endsWith(':00') && clock.length > 5 ? clock.slice(0, 5) : clock, offset };
};

const WEEKDAYS = ['Sun', 'Mon', 'Tue', 'Wed', 'Thu', 'Fri', 'Sat'];

/** '2027-03-28' -> 'Sun 28 Mar', with the year unless it is this one. */
export const dayText = (date) => {
  const at = new Date(`${date}T00:00:00Z`);
  if (Number.isNaN(at.getTime())) return date;
  const year = at.getUTCFullYear() === new Date().getFullYear() ? '' : ` ${at.getUTCFullYear()}`;
  return `${WEEKDAYS[at.getUTCDay()]} ${at.getUTCDate()} ${MONTHS[at.getUTCMonth()]}${year}`;
};

/** The local time in the schedule's zone. */
export const localText = (local) => {
  const { date, clock, offset } = localParts(local);
  return `${dayText(date)} ${clock}${offset ? ` ${offset === 'Z' ? 'UTC' : offset}` : ''}`;
};

const summary = (fires) => {
  const counts = new Map();
  for (const fire of fires) {
    const [, , word] = outcomeOf(fire);
    counts.set(word, (counts.get(word) ?? 0) + 1);
  }
  return [...counts].map(([word, n]) => `${n} ${word}`).join(', ');
};

/** The newest fires in a row, oldest first, for a cell of a table. */
export const miniStrip = (fires) => {
  if (!fires?.length) return html`<span class="muted">no runs yet</span>`;
  const past = fires.toReversed();
  return html`<span class="ministrip" role="img" aria-label="Last ${fires.length} runs: ${summary(past)}">
    ${past.map((fire) => {
      const [tone, shape, word] = outcomeOf(fire);
      return html`<span class="mark mark-${tone}" title="${timeText(fire.at)}: ${word}">${shape}</span>`;
    })}
  </span>`;
};

/** Days of fires, oldest first. */
const days = (fires) => {
  const found = [];
  for (const fire of fires) {
    const { date } = localParts(fire.local);
    if (found.at(-1)?.date !== date) found.push({ date, fires: [] });
    found.at(-1).fires.push(fire);
  }
  return found;
};

const NOW = html`<span class="strip-now" title="now" aria-hidden="true"></span>`;

/**
 * Past and next fires as marks on days of the schedule's zone. One mark is a tab stop, arrow keys
 * move between them. Dispatches 'chosen' with the fire.
 */
class FireStrip extends LitElement {
  static properties = {
    /** Newest first, as the API lists them. */
    fires: { attribute: false },
    /** Upcoming runs. */
    next: { attribute: false },
    chosen: { attribute: false },
  };

  constructor() {
    super();
    this.fires = [];
    this.next = [];
    this.chosen = null;
  }

  createRenderRoot() {
    return this;
  }

  get #marks() {
    const planned = new Set(this.fires.map((fire) => fire.at));
    const coming = this.next.filter((run) => !planned.has(run.at)).map((run) => ({ ...run, isNext: true }));
    return [...this.fires.toReversed(), ...coming];
  }

  #choose(fire) {
    this.chosen = fire;
    this.dispatchEvent(new CustomEvent('chosen', { detail: fire }));
  }

  #keys(e) {
    const step = { ArrowLeft: -1, ArrowUp: -1, ArrowRight: 1, ArrowDown: 1, Home: -Infinity, End: Infinity }[e.key];
    if (step === undefined) return;
    const marks = [.../** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('button.mark'))];
    const at = marks.findIndex((each) => each === document.activeElement);
    const next = Math.min(marks.length - 1, Math.max(0, at + step));
    e.preventDefault();
    marks[next]?.focus();
  }

  #mark(fire, isStop) {
    const [tone, shape, word] = fire.isNext ? OUTCOMES.next : outcomeOf(fire);
    const kind = fire.kind && fire.kind !== 'scheduled' ? `, ${fire.kind}` : '';
    const text = `${localText(fire.local)}: ${word}${kind}${fire.note ? `. ${fire.note}` : ''}`;
    return html`<button
      type="button"
      class="mark mark-${tone} ${
        fire.kind === 'trigger' || fire.kind === 'backfill' ? 'mark-extra' : ''
      } ${fire.note ? 'mark-noted' : ''}"
      tabindex=${isStop ? '0' : '-1'}
      aria-pressed=${this.chosen?.at === fire.at && this.chosen?.local === fire.local}
      aria-label=${text}
      title=${text}
      @click=${() => this.#choose(fire)}
      @focus=${(e) => this.#stopAt(e.target)}
    >
      ${shape}
    </button>`;
  }

  #stopAt(mark) {
    for (const each of /** @type {NodeListOf<HTMLElement>} */ (this.querySelectorAll('button.mark[tabindex="0"]'))) {
      each.tabIndex = -1;
    }
    mark.tabIndex = 0;
  }

  render() {
    const marks = this.#marks;
    if (marks.length === 0) return html`<p class="muted">No past and no upcoming runs.</p>`;
    const stop = this.chosen ?? marks.findLast((fire) => !fire.isNext) ?? marks[0];
    const lastPast = marks.findLast((fire) => !fire.isNext);
    return html`<div class="strip" role="toolbar" aria-label="Runs, oldest first" @keydown=${this.#keys}>
      ${days(marks).map(
        (day) =>
          html`<div class="strip-day">
            <div class="strip-date" aria-hidden="true">${dayText(day.date)}</div>
            <div class="strip-marks">
              ${day.fires.map((fire) => {
                const isStop = fire.at === stop.at && fire.local === stop.local;
                return html`${this.#mark(fire, isStop)}${fire === lastPast ? NOW : nothing}`;
              })}
            </div>
          </div>`,
      )}
    </div>`;
  }
}
customElements.define('c-fire-strip', FireStrip);

const LEGEND = [
  'COMPLETED',
  'DEAD',
  'RUNNING',
  'PENDING',
  'CANCELLED',
  'EXPIRED',
  'overlap',
  'paused',
  'window',
  'dstGap',
  'next',
];

/** What the marks mean; only those that are shown. */
export const legend = (fires, hasNext) => {
  const there = new Set(fires.map(keyOf));
  if (hasNext) there.add('next');
  return html`<p class="legend">
    ${LEGEND.filter((key) => there.has(key)).map((key) => {
      const [tone, shape, word] = OUTCOMES[key];
      return html`<span><span class="mark mark-${tone}" aria-hidden="true">${shape}</span> ${word}</span>`;
    })}
  </p>`;
};

const KINDS = { scheduled: 'scheduled', trigger: 'manual', backfill: 'backfill' };

/**
 * The details of one fire.
 *
 * @param {any} fire
 * @param {{backfill?: (fire: any) => void}} [options]
 */
export const fireDetail = (fire, { backfill } = {}) => {
  const reason = reasonOf(fire);
  return html`<div class="fire-detail">
    <p>
      <strong>${localText(fire.local)}</strong>
      ${fire.isNext ? badge('off', '◦', 'upcoming') : outcomeBadge(fire)}
      <span class="muted"
        >${time(fire.at)} your time, ${agoText(fire.at)}${fire.kind ? `, ${KINDS[fire.kind] ?? fire.kind}` : ''}</span
      >
    </p>
    ${fire.note ? html`<p class="note">${fire.note}</p>` : nothing}
    ${reason ? html`<p>${reason[0]} <span class="muted">${reason[1]}</span></p>` : nothing}
    <p class="row">
      ${fire.taskId ? html`<a href=${href('tasks', fire.taskId)}>Task ${fire.taskId}</a>` : nothing}
      ${
        backfill && fire.outcome === 'skipped' && fire.reason !== 'ended'
          ? html`<button type="button" class="secondary" @click=${() => backfill(fire)}>Backfill this run…</button>`
          : nothing
      }
      ${fire.recordedAt ? html`<span class="muted">recorded ${time(fire.recordedAt)}</span>` : nothing}
    </p>
  </div>`;
};
