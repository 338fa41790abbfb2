// The fields of the form that do not depend on its state.

import { html } from 'lit';
import { field } from '../parts/fields.js';

const DST_GAP = [
  ['shift', 'run when the gap ends'],
  ['skip', 'skip'],
];
const DST_OVERLAP = [
  ['first', 'run the first time'],
  ['last', 'run the second time'],
  ['both', 'run both times'],
];
const OVERLAP = [
  ['skip', 'Skip the new run'],
  ['allow', 'Allow concurrent runs'],
  ['queue', 'Queue one run'],
  ['cancelPrevious', 'Cancel the previous run'],
];
const CATCH_UP = [
  ['last', 'Run the latest only'],
  ['all', 'Run all'],
  ['none', 'Run none'],
];

/**
 * When it runs.
 *
 * @param {any} s the schedule, or {} for a new one
 * @param {any[] | undefined} errors
 * @param {boolean} isEvery an interval instead of a cron expression
 */
export const whenFields = (s, errors, isEvery) => html`
  ${
    isEvery
      ? field({
          name: '/every',
          label: 'Every',
          value: s.every,
          kind: 'duration',
          errors,
          required: true,
          code: true,
          placeholder: '90s',
          hint: 'For example 90s, 15m, 2h, 7d. Not affected by DST.',
        })
      : field({
          name: '/cron',
          label: 'Cron expression',
          value: s.cron,
          errors,
          required: true,
          code: true,
          maxlength: 256,
          placeholder: '0 9 * * MON-FRI',
          hint:
            'Minute, hour, day of month, month, day of week. With six fields, the first is seconds. ' +
            'Use H to spread load (as in Jenkins).',
        })
  }
  ${field({ name: '/timezone', label: 'Time zone', value: s.timezone ?? 'UTC', errors, list: 'zones', required: true })}
  ${field({
    name: '/dst/gap',
    label: 'DST gap',
    hint: 'local time does not exist',
    value: s.dst?.gap ?? 'shift',
    choices: DST_GAP,
    errors,
  })}
  ${field({
    name: '/dst/overlap',
    label: 'DST overlap',
    hint: 'local time occurs twice',
    value: s.dst?.overlap ?? 'first',
    choices: DST_OVERLAP,
    errors,
  })}
  ${field({ name: '/startAt', label: 'Start at', value: s.startAt, kind: 'time', errors, hint: 'your time zone' })}
  ${field({ name: '/endAt', label: 'End at', value: s.endAt, kind: 'time', errors, hint: 'your time zone' })}
`;

/** What happens to runs that overlap, are missed or fail. */
export const policyFields = (s, errors) =>
  html`<fieldset>
    <legend>Policies</legend>
    <div class="fields">
      ${field({ name: '/overlap', label: 'Overlap policy', value: s.overlap ?? 'skip', choices: OVERLAP, errors })}
      ${field({ name: '/catchUp', label: 'Catch-up policy', value: s.catchUp ?? 'last', choices: CATCH_UP, errors })}
      ${field({
        name: '/catchUpLimit',
        label: 'Max catch-up runs',
        value: s.catchUpLimit,
        kind: 'number',
        min: 1,
        max: 1000,
        errors,
        placeholder: '100',
      })}
      ${field({
        name: '/catchUpWindow',
        label: 'Catch-up window',
        value: s.catchUpWindow,
        kind: 'duration',
        errors,
        placeholder: '7d',
      })}
      ${field({
        name: '/jitter',
        label: 'Jitter',
        value: s.jitter === 'PT0S' ? undefined : s.jitter,
        kind: 'duration',
        errors,
        placeholder: 'none',
        hint: 'Random delay up to this value',
      })}
      ${field({
        name: '/maxRuns',
        label: 'Max runs',
        value: s.maxRuns,
        kind: 'number',
        min: 1,
        errors,
        placeholder: 'never',
      })}
      ${field({
        name: '/pauseAfterFailures',
        label: 'Pause after consecutive failures',
        value: s.pauseAfterFailures,
        kind: 'number',
        min: 1,
        max: 1000,
        errors,
        placeholder: 'never',
      })}
    </div>
  </fieldset>`;
