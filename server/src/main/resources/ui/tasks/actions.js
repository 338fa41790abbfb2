// What a person does to one task: edit, run, cancel, redrive; and the same as commands.

import { html, nothing } from 'lit';
import { Problem, api, curl, path, stale } from '../api.js';
import { getExact, parseExact } from '../exact-json.js';
import { instant, localTime, visible } from '../format.js';
import { asked, confirmed, toast } from '../parts.js';

const pretty = (value) => (value === null || value === undefined ? '' : JSON.stringify(value, null, 2));

const json = (name, text) => {
  try {
    return text.trim() === '' ? null : parseExact(text);
  } catch (e) {
    throw new Problem(422, { title: 'This is not JSON', errors: [{ pointer: `/${name}`, detail: e.message }] });
  }
};

const same = (a, b) => JSON.stringify(a ?? null) === JSON.stringify(b ?? null);

/** What was set and is now empty, which a task's payload can be and these cannot. */
const refuseEmptied = (task, text) => {
  const errors = ['dueAt', 'priority', 'target', 'retry']
    .filter((name) => text(name).trim() === '' && (task[name] ?? null) !== null)
    .map((name) => ({ pointer: `/${name}`, detail: 'is set and can be changed, but not taken away' }));
  if (errors.length > 0) throw new Problem(422, { title: 'Not sent', errors });
};

/** What the form says that the task does not. */
const changes = (task, form) => {
  const patch = {};
  const text = (name) => String(form.get(name) ?? '');
  refuseEmptied(task, text);
  // The field gives whole minutes back without their seconds.
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
    ? `Its own. It can be changed, but not taken away. For example ${example}`
    : `Empty: as its type says. Once it has its own, it keeps that. For example ${example}`;

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
 * @param {{redrive?: boolean}} [options] whether it is redriven after that
 * @returns {Promise<boolean>} whether the task is another by now: by this, or by somebody who was faster
 */
export const edit = async (task, etag, { redrive = false } = {}) => {
  // Saved and redriven are two calls: after the first, another try has only the second to do.
  let now = task;
  let version = etag;
  const saved = new Set();
  let isStale = false;
  const done = await asked({
    title: redrive ? 'Edit and redrive' : 'Edit the task',
    body: fields(task),
    action: redrive ? 'Save and redrive' : 'Save',
    submit: async (form) => {
      const patch = changes(now, form);
      if (Object.keys(patch).length > 0) {
        const answer = await api.patch(path`/v1/tasks/${task.id}`, patch, { ifMatch: version }).catch((e) => {
          isStale = e.status === 412;
          throw stale(e, 'Close this, look at what it is now, and edit it again.');
        });
        version = answer.etag;
        now = { ...now, ...patch }; // as it was typed: the answer has it in the server's words
        for (const name of Object.keys(patch)) saved.add(name);
      }
      if (redrive) await api.post(path`/v1/tasks/${task.id}/redrive`);
    },
  });
  if (done === null && saved.size === 0) return isStale;
  if (redrive && done !== null) toast('Redriven: it waits with a fresh budget of attempts');
  else
    toast(saved.size > 0 ? `Saved: ${[...saved].join(', ')}${redrive ? '; not redriven' : ''}` : 'Nothing was changed');
  return true;
};

/** The same for a task of which only the id is at hand. */
export const editById = async (id, options) => {
  const { data, etag } = await getExact(path`/v1/tasks/${id}`);
  return edit(data, etag, options);
};

/** Redrives one dead task. */
export const redrive = async (task) => {
  await api.post(path`/v1/tasks/${task.id}/redrive`);
  toast('Redriven: it waits with a fresh budget of attempts');
};

export const runNow = async (task) => {
  await api.post(path`/v1/tasks/${task.id}/run`);
  toast('It is due now');
};

/** @returns {Promise<boolean>} whether it was done */
export const cancel = async (task) => {
  const body =
    task.status === 'RUNNING'
      ? 'It runs now. No further attempt starts; the one under way may still complete it.'
      : 'No attempt starts any more. This cannot be undone.';
  const sure = await confirmed({
    title: `Cancel this ${visible(task.type)}?`,
    body,
    action: 'Cancel the task',
    keep: 'Keep it',
    danger: true,
    submit: () => api.post(path`/v1/tasks/${task.id}/cancel`),
  });
  if (sure) toast(task.status === 'RUNNING' ? 'Asked to end' : 'Cancelled');
  return sure;
};

const COPIED = ['type', 'key', 'priority', 'payload', 'target', 'retry', 'concurrencyKey', 'onComplete', 'onDead'];

const copyOf = (task) => {
  const copy = {};
  for (const name of COPIED) if (task[name] !== null && task[name] !== undefined) copy[name] = task[name];
  if (Object.keys(task.metadata ?? {}).length > 0) copy.metadata = task.metadata;
  return copy;
};

/** Every call of the page as a command: `[label, text]`. */
export const commands = (task) => {
  const at = path`/v1/tasks/${task.id}`;
  const all = [['Show it', curl('GET', at)]];
  if (task.status === 'PENDING') all.push(['Run it now', curl('POST', `${at}/run`)]);
  if (task.status === 'PENDING' || task.status === 'RUNNING') all.push(['Cancel it', curl('POST', `${at}/cancel`)]);
  if (task.status === 'DEAD') all.push(['Redrive it', curl('POST', `${at}/redrive`)]);
  if (task.status === 'PENDING' || task.status === 'DEAD') {
    all.push(['Change it', curl('PATCH', at, { priority: task.priority, payload: task.payload ?? null })]);
  }
  all.push(['Make a copy that is due now', curl('POST', '/v1/tasks', copyOf(task))]);
  return all;
};
