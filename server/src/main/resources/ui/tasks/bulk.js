// Bulk actions on the selected tasks or on all that match: the dialog shows the count before anything changes.

import { html } from 'lit';
import { api, path } from '../api.js';
import { count, plural } from '../format.js';
import { ask, toast } from '../parts.js';
import { redriveDialog } from '../dead-letters/redrives.js';

const AT_ONCE = 4;
const MAX_ROUNDS = 200; // each changes up to 50,000 tasks, or checks up to 200,000

const KINDS = {
  cancel: {
    path: '/v1/tasks/cancel',
    verb: 'Cancel',
    keep: 'Back',
    past: 'cancelled',
    danger: true,
    text:
      'Pending tasks are cancelled. Running tasks finish their current attempt and are not retried. ' +
      'This cannot be undone.',
  },
  run: {
    path: '/v1/tasks/run',
    verb: 'Run',
    past: 'run',
    danger: false,
    text: 'Makes all of them due now. Tasks that are already due keep their place in the queue.',
  },
};

const DONE = { cancel: 'cancelled', run: 'due now' };
const STOPPED = '; stopped early';

const some = (n, atLeast) => (atLeast ? `at least ${plural(n, 'task')}` : plural(n, 'task'));

/**
 * Progress; one call takes at most 2 s.
 *
 * @param {number} done
 * @param {{matched: number, atLeast?: boolean}} all
 */
const progress = (done, { matched, atLeast }) =>
  atLeast ? `${count(done)} so far` : `${count(done)} of ${count(Math.max(done, matched))}`;

/**
 * Cancels or runs all tasks that match. The server counts them, the user confirms, and the call is
 * repeated until no task is left.
 *
 * @returns {Promise<boolean>} whether anything was done
 */
export const bulk = async (kind, body) => {
  const { path: at, verb, keep, past, danger, text } = KINDS[kind];
  const { data } = await api.post(at, { ...body, dryRun: true });
  if (data.matched === 0 && !data.atLeast) {
    toast(kind === 'run' ? 'No matching task is scheduled for later' : 'No matching task can be cancelled');
    return false;
  }
  let all = 0; // over all calls
  let requested = 0;
  let more = true;
  let next = {};
  const done = await ask({
    title: data.matched === 0 ? `${verb} all matching tasks?` : `${verb} ${some(data.matched, data.atLeast)}?`,
    body: text,
    action:
      data.matched === 0 || data.atLeast ? `${verb} all matching tasks` : `${verb} ${plural(data.matched, 'task')}`,
    keep,
    danger,
    stoppable: true,
    submit: async (_form, signal, report) => {
      report(progress(all, data));
      for (let round = 0; round < MAX_ROUNDS && more && !signal.aborted; round++) {
        const { data: result } = await api.post(at, { ...body, ...next });
        all += result[past];
        requested += result.requested ?? 0;
        more = result.more === true;
        next = result.nextCursor ? { cursor: result.nextCursor } : {};
        report(progress(all, data));
      }
    },
  });
  if (done === null && all === 0 && requested === 0) return false;
  const running = requested > 0 ? `; ${count(requested)} running: cancellation requested` : '';
  toast(`${plural(all, 'task')} ${DONE[kind]}${running}${more ? STOPPED : ''}`);
  return true;
};

export const redriveMatching = (body) => redriveDialog(body);

const CALLS = {
  cancel: (id) => api.post(path`/v1/tasks/${id}/cancel`),
  run: (id) => api.post(path`/v1/tasks/${id}/run`),
};

/** Cancels or runs the selected tasks, a few at a time. @returns {Promise<boolean>} whether anything was done */
export const each = async (kind, ids) => {
  const { verb, keep, danger, text } = KINDS[kind];
  const left = [...ids];
  let made = 0;
  let refused = 0;
  const done = await ask({
    title: `${verb} ${plural(ids.length, 'task')}?`,
    body: text,
    action: `${verb} ${plural(ids.length, 'task')}`,
    keep,
    danger,
    stoppable: true,
    submit: async (_form, signal, report) => {
      let failed = null;
      const work = async () => {
        while (left.length > 0 && !failed && !signal.aborted) {
          const id = left.shift();
          try {
            await CALLS[kind](id);
            made++;
            report(progress(made, { matched: ids.length }));
          } catch (e) {
            if (e.status && e.status < 500) {
              refused++;
            } else {
              left.push(id); // retried when the dialog is submitted again
              failed = e;
            }
          }
        }
      };
      await Promise.all(Array.from({ length: AT_ONCE }, work));
      if (failed) throw failed;
    },
  });
  if (done === null && made === 0) return false;
  const rest = refused > 0 ? `; ${count(refused)} skipped: already changed` : '';
  toast(`${plural(made, 'task')} ${DONE[kind]}${rest}${left.length > 0 ? STOPPED : ''}`);
  return true;
};

/** The buttons of the actions that the key may use on tasks in these statuses. */
export const bulkButtons = ({ statuses, act, busy }) => {
  const has = (...names) => statuses.size === 0 || names.some((name) => statuses.has(name));
  const button = (kind, label, className) =>
    html`<button
      type="button"
      class="small ${className}"
      aria-busy=${busy === kind}
      ?disabled=${busy !== ''}
      @click=${() => act(kind)}
    >
      ${label}
    </button>`;
  return [
    has('DEAD') && api.may('TASKS_OPERATE') ? button('redrive', 'Redrive', '') : '',
    has('PENDING') && api.may('TASKS_OPERATE') ? button('run', 'Run now', 'outline') : '',
    has('PENDING', 'RUNNING') && api.may('TASKS_CANCEL') ? button('cancel', 'Cancel', 'outline danger') : '',
  ];
};
