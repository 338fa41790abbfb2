// What a schedule is set to, and how its runs ended.

import { html, nothing } from 'lit';
import { path } from '../api.js';
import { curl } from '../curl.js';
import { badge, count, plural, setDuration, time, visible } from '../format.js';
import { href } from '../router.js';
import { retryText, targetText } from '../types/target.js';

const STATUS = {
  ACTIVE: ['ok', '✓', 'Active'],
  PAUSED: ['warn', '‖', 'Paused'],
  FINISHED: ['off', '■', 'Finished'],
};

/** The badge of a schedule's status. */
export const statusBadge = ({ status }) => badge(...(STATUS[status] ?? ['off', '·', status]));

const WORDS = {
  overlap: {
    skip: 'skip the new run',
    allow: 'allow concurrent runs',
    queue: 'queue one run',
    cancelPrevious: 'cancel the previous run',
  },
  catchUp: { none: 'run none', last: 'run the latest only', all: 'run all' },
};

/** How its runs ended so far. */
export const totals = ({ name, counters }) => {
  const skipped = Object.entries(counters.skipped).filter(([, n]) => n > 0);
  const number = (name, n) =>
    html`<dt>${name}</dt>
      <dd>${count(n)}</dd>`;
  return html`<section class="card" aria-labelledby="counters">
    <h2 id="counters">Totals</h2>
    <dl class="facts">
      ${number('Runs', counters.runs)} ${number('Completed', counters.completed)} ${number('Failed', counters.failed)}
      ${number('Cancelled', counters.cancelled)} ${skipped.map(([reason, n]) => number(`Skipped: ${reason}`, n))}
    </dl>
    <p><a href=${href('tasks', { schedule: name })}>View tasks</a></p>
  </section>`;
};

export const settings = (s) => {
  const catchUpWindow = s.catchUp === 'none' ? '' : `, last ${setDuration(s.catchUpWindow)}`;
  const fact = (name, value) =>
    html`<dt>${name}</dt>
      <dd>${value}</dd>`;
  return html`<details class="card">
    <summary><h2>Settings</h2></summary>
    <dl class="facts">
      ${fact('Target', targetText(s.target))} ${fact('Retries', retryText(s.retry))}
      ${fact('Overlap policy', WORDS.overlap[s.overlap] ?? s.overlap)}
      ${fact('Catch-up policy', `${WORDS.catchUp[s.catchUp] ?? s.catchUp}${catchUpWindow}`)}
      ${fact('DST', `gap ${s.dst.gap}, overlap ${s.dst.overlap}`)} ${fact('Jitter', setDuration(s.jitter))}
      ${fact('Start at', time(s.startAt))} ${fact('End at', time(s.endAt))} ${fact('Max runs', count(s.maxRuns))}
      ${fact('Pause after', s.pauseAfterFailures ? plural(s.pauseAfterFailures, 'failure') : 'never')}
      ${fact('Key', visible(s.key ?? '–'))} ${fact('Priority', s.priority ?? 'from the type')}
      ${fact('Created', time(s.createdAt))} ${fact('Updated', time(s.updatedAt))} ${fact('Version', count(s.version))}
    </dl>
    ${s.payload === undefined ? nothing : html`<c-json .value=${s.payload} label="Payload"></c-json>`}
    <c-json .value=${curl('GET', path`/v1/schedules/${s.name}`)} label="As curl"></c-json>
  </details>`;
};
