// The actions on one task: edit, run, cancel, redrive; and their curl commands.

import { html, nothing } from 'lit';
import { Problem, api, path, stale } from '../api.js';
import { curl } from '../curl.js';
import { getExact, parseExact } from '../exact-json.js';
import { instant, localTime, visible } from '../format.js';
import { ask, confirm, toast } from '../parts.js';

const pretty = (value) => (value === null || value === undefined ? '' : JSON.stringify(value, null, 2));

const json = (name, text) => {
  try {
    return text.trim() === '' ? null : parseExact(text);
  } catch (e) {
    throw new Problem(422, { title: 'Invalid JSON', errors: [{ pointer: `/${name}`, detail: e.message }] });
  }
};

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** Rejects a form that empties a field which must keep a value. */
const refuseEmptied = (task, text) => {
  const errors = ['dueAt', 'priority', 'target', 'retry']
    .filter((name) => text(name).trim() === '' && (task[name] ?? null) !== null)
    .map((name) => ({ pointer: `/${name}`, detail: 'can be changed but not removed' }));
  if (errors.length > 0) throw new Problem(422, { title: 'Not saved', errors });
};

/** The fields of the form that differ from the task. */
const changes = (task, form) => {
  const patch = {};
  const text = (name) => String(form.get(name) ?? '');
  refuseEmptied(task, text);
  // The input returns whole minutes without their seconds.
  const dueAt = instant(text('dueAt'));
  if (dueAt !== instant(localTime(task.dueAt))) patch.dueAt = dueAt;
  if (text('priority') !== String(task.priority)) patch.priority = Number(text('priority'));
  if (text('key') !== (task.key ?? '')) patch.key = text('key');
  for (const name of ['payload', 'retry', 'target']) {
    const value = json(name, text(name));
    if (!same(value, task[name])) patch[name] = value;
  }
  return patch;
};

const area = (name, label, value, help) =>
  html`<label
      >${label}
      <textarea
        name=${name}
        class="mono"
        rows=${Math.min(14, Math.max(3, value.split('\n', 15).length))}
        spellcheck="false"
        aria-describedby=${help ? `help-${name}` : nothing}
        .value=${value}
      ></textarea>
    </label>
    ${help ? html`<small id="help-${name}">${help}</small>` : nothing}`;

const ownHelp = (value, example) =>
  value
    ? `Overrides the type. Can be changed but not removed. Example: ${example}`
    : `Empty: inherited from the type. An override cannot be removed later. Example: ${example}`;

const fields = (task) => html`
  <div class="fields">
    <label>Due at <input type="datetime-local" step="1" name="dueAt" .value=${localTime(task.dueAt)} /></label>
    <label>Priority <input type="number" name="priority" min="0" max="9" .value=${String(task.priority)} /></label>
    <label>Key <input name="key" maxlength="200" .value=${task.key ?? ''} /></label>
  </div>
  ${area('payload', 'Payload', pretty(task.payload))}
  <details ?open=${Boolean(task.target || task.retry)}>
    <summary>Target and retries</summary>
    ${area('target', 'Target', pretty(task.target), ownHelp(task.target, '{"http": {"url": "https://…"}}'))}
    ${area('retry', 'Retry', pretty(task.retry), ownHelp(task.retry, '{"maxAttempts": 3}'))}
  </details>
`;

/**
 * Edits a task in a dialog.
 *
 * @param {any} task
 * @param {string} etag
 * @param {{redrive?: boolean}} [options] whether to redrive it afterwards
 * @returns {Promise<boolean>} whether the task has changed: by this, or by someone else
 */
export const edit = async (task, etag, { redrive = false } = {}) => {
  // Saving and redriving are two calls: if the second fails, a retry repeats only that one.
  let now = task;
  let version = etag;
  const saved = new Set();
  let isStale = false;
  const done = await ask({
    title: redrive ? 'Edit and redrive' : 'Edit task',
    body: fields(task),
    action: redrive ? 'Save and redrive' : 'Save',
    submit: async (form) => {
      const patch = changes(now, form);
      if (Object.keys(patch).length > 0) {
        const response = await api.patch(path`/v1/tasks/${task.id}`, patch, { ifMatch: version }).catch((e) => {
          isStale = e.status === 412;
          throw stale(e, 'Close this dialog and edit the current version.');
        });
        version = response.etag;
        now = { ...now, ...patch }; // as typed: the server returns durations in another form
        for (const name of Object.keys(patch)) saved.add(name);
      }
      if (redrive) await api.post(path`/v1/tasks/${task.id}/redrive`);
    },
  });
  if (done === null && saved.size === 0) return isStale;
  if (redrive && done !== null) toast('Redriven. Attempts reset.');
  else toast(saved.size > 0 ? `Saved: ${[...saved].join(', ')}${redrive ? '; not redriven' : ''}` : 'No changes');
  return true;
};

/** Edits the task with this id. */
export const editById = async (id, options) => {
  const { data, etag } = await getExact(path`/v1/tasks/${id}`);
  return edit(data, etag, options);
};

/** Redrives one dead task. @returns {Promise<boolean>} whether it was done */
export const redrive = async (task) => {
  await api.post(path`/v1/tasks/${task.id}/redrive`);
  toast('Redriven. Attempts reset.');
  return true;
};

export const runNow = async (task) => {
  await api.post(path`/v1/tasks/${task.id}/run`);
  toast('Set to run now');
};

/** @returns {Promise<boolean>} whether it was done */
export const cancel = async (task) => {
  const body =
    task.status === 'RUNNING'
      ? 'The task is running. It will not be retried, but the current attempt may still succeed.'
      : 'The task will not run. This cannot be undone.';
  const sure = await confirm({
    title: `Cancel this ${visible(task.type)}?`,
    body,
    action: 'Cancel task',
    keep: 'Back',
    danger: true,
    submit: () => api.post(path`/v1/tasks/${task.id}/cancel`),
  });
  if (sure) toast(task.status === 'RUNNING' ? 'Cancellation requested' : 'Cancelled');
  return sure;
};

const COPIED = ['type', 'key', 'priority', 'payload', 'target', 'retry', 'concurrencyKey', 'onComplete', 'onDead'];

const copyOf = (task) => {
  const copy = {};
  for (const name of COPIED) if (task[name] !== null && task[name] !== undefined) copy[name] = task[name];
  if (Object.keys(task.metadata ?? {}).length > 0) copy.metadata = task.metadata;
  return copy;
};

/** The calls of the page as curl commands: `[label, command]`. */
export const commands = (task) => {
  const at = path`/v1/tasks/${task.id}`;
  const all = [['Get', curl('GET', at)]];
  if (task.status === 'PENDING') all.push(['Run now', curl('POST', `${at}/run`)]);
  if (task.status === 'PENDING' || task.status === 'RUNNING') all.push(['Cancel', curl('POST', `${at}/cancel`)]);
  if (task.status === 'DEAD') all.push(['Redrive', curl('POST', `${at}/redrive`)]);
  if (task.status === 'PENDING' || task.status === 'DEAD') {
    all.push(['Edit', curl('PATCH', at, { priority: task.priority, payload: task.payload ?? null })]);
  }
  all.push(['Create a copy, due now', curl('POST', '/v1/tasks', copyOf(task))]);
  return all;
};
