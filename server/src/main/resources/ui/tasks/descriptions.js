// Texts about a task: what happens next, why an attempt failed and what to do about it.

import { html, nothing } from 'lit';
import { ago, duration, firstLine, stateOf, time, visible } from '../format.js';
import { href } from '../router.js';

const FAILURES = {
  status: 'The target returned an error status.',
  timeout: 'The target did not respond before the attempt timeout.',
  connect_timeout: 'Connection timed out. Nothing was sent. Check firewalls and routing to the target.',
  dns: 'DNS lookup failed. Nothing was sent. Check the host name in the URL.',
  connection: 'Connection refused or failed. Nothing was sent. Check that the service is up and the port is right.',
  tls: "TLS handshake failed. Nothing was sent. Check the target's certificate.",
  address_not_allowed: 'This address is not allowed. An operator can allow it with --allow-targets.',
  credential_missing: 'A secret of the target was not in the archive that the task was restored from: edit its target.',
  broken: 'The connection was lost before a response arrived. The target may have processed the request.',
  protocol: 'The response was not valid HTTP or was too large.',
  unroutable: 'The broker has no such topic, exchange or queue.',
  broker_refused: 'The broker rejected the message.',
  broker_lost: 'The broker was unreachable. This does not count as an attempt.',
  worker: 'Reported by the worker.',
  lease_lost: "The worker's lease expired. It may have done part of the work.",
  shutdown: 'The node was shut down. This does not count as an attempt.',
  crashed: 'The node crashed during this attempt.',
  poison: 'This task was running when several nodes crashed. Find the cause before you redrive it.',
};

/** Range of statuses, the advice for a dead task, and the text for any other. */
const STATUSES = [
  [410, 410, 'The target returned 410 Gone.'],
  [401, 401, "401 Unauthorized: check the credentials in the target's headers."],
  [403, 403, "403 Forbidden: check the credentials in the target's headers."],
  [404, 404, '404 Not Found: check the URL.'],
  [429, 429, '429 Too Many Requests: redrive with a rate limit.', '429 Too Many Requests.'],
  [300, 399, 'Redirects are not followed. Use the final URL as the target.'],
  [
    400,
    499,
    'The target rejected the request. Fix the payload or the target, then redrive.',
    'The target rejected the request.',
  ],
  [500, 599, 'The target returned an error. Redrive once it has recovered.', 'The target returned an error.'],
];

/** What a failure means and what to do about it. Only dead tasks can be redriven. */
export const advice = (error, status) => {
  if (!error) return '';
  const byStatus =
    error.kind === 'status' && STATUSES.find(([low, high]) => error.status >= low && error.status <= high);
  if (!byStatus) return FAILURES[error.kind] ?? '';
  const [, , ifDead, otherwise] = byStatus;
  if (status === 'DEAD' || !otherwise) return ifDead;
  return status === 'PENDING' ? `${otherwise} The next attempt is automatic.` : otherwise;
};

/** The message of an error, or its kind if it has none. */
export const message = (error) => error?.message ?? error?.kind ?? '';

const MAX_SHOWN = 2_000;

/** The text of an error; a very long one is cut, with the full text below. */
export const errorText = (text, max = MAX_SHOWN) => {
  const shown = visible(text?.slice(0, max)).trim() || 'no error message';
  return text?.length > max
    ? html`<p class="error-text">${shown} …</p>
        ${max === MAX_SHOWN ? html`<c-json .value=${text} label="Full error"></c-json>` : nothing}`
    : html`<p class="error-text">${shown}</p>`;
};

/** One line for a table cell: the error, and the start of the response. */
export const errorLine = (task) => {
  if (!task.error) return nothing;
  const output = task.error.kind === 'status' && task.status !== 'COMPLETED' ? task.output : null;
  const response = output ? output.slice(0, 500).replace(/\s+/g, ' ') : '';
  return html`<span
    ><span class="error-line">${firstLine(message(task.error))}</span> ${
      response ? html`<small>${firstLine(response)}</small>` : nothing
    }</span
  >`;
};

/** 'HTTP 503', 'dns': the kind of a failure in short. */
export const kind = (failure, status) =>
  failure === 'status' && status ? `HTTP ${status}` : visible(failure ?? 'unknown').replaceAll('_', ' ');

const attempts = (task) => `attempt ${task.attempt} of ${task.maxAttempts}`;

const suspectText = (task) =>
  (task.waitingFor ?? []).filter((each) => each.reason === 'suspect').map((each) => html` ${visible(each.text)}`);

/** Why a task that is due has not started. */
const reasonToWait = (task, type, slots) => {
  const target = task.target ?? type?.target;
  if (type && (!target || 'pull' in target)) return 'waiting for a worker that polls this type';
  const isFull = slots && slots.used >= slots.total;
  if (task.concurrencyKey && !isFull) {
    const other = html`for a running task with concurrency key <code>${visible(task.concurrencyKey)}</code>`;
    return slots ? html`waiting ${other}` : html`waiting for a free slot, or ${other}`;
  }
  return slots ? `waiting for a free slot (${slots.used}/${slots.total} in use)` : 'waiting for a free slot';
};

const pending = (task, type, slots) => {
  if (type?.paused) {
    return html`<strong>Blocked: type ${task.type} is paused.</strong>
      <a href=${href('types', task.type)}>View type</a>${suspectText(task)}`;
  }
  const state = stateOf(task);
  const attempt = task.attempt > 0 ? `attempt ${task.attempt + 1} of ${task.maxAttempts} ` : '';
  const at = task.nextAttemptAt;
  const suspect = suspectText(task);
  if (state === 'SCHEDULED') return html`Scheduled: starts ${ago(at)} (${time(at)}).${suspect}`;
  if (state === 'RETRYING') return html`Retrying: ${attempt}starts ${ago(at)} (${time(at)}).${suspect}`;
  const since = state === 'OVERDUE' ? 'Overdue since' : 'Ready since';
  return html`${since} ${time(at)}: ${attempt}${reasonToWait(task, type, slots)}.${suspect}`;
};

const running = (task) => {
  const holder = task.leasedBy ? html`<code>${visible(task.leasedBy)}</code>` : nothing;
  if (task.waitingFor) {
    const cancelling = task.cancelRequested ? 'Cancellation requested. The task will end without an attempt.' : '';
    return html`Claimed ${ago(task.startedAt)} ${task.leasedBy ? html`by ${holder}` : nothing} and not started
      yet.${suspectText(task)} <strong>${cancelling}</strong>`;
  }
  const cancelling = task.cancelRequested ? 'Cancellation requested. No further attempt will start.' : '';
  const lease = task.leaseUntil ? html`, lease expires ${ago(task.leaseUntil)}` : nothing;
  return html`Running: ${attempts(task)}, started
    ${ago(task.startedAt)}${task.leasedBy ? html` on ${holder}` : nothing}${lease}. <strong>${cancelling}</strong>`;
};

const cancelled = (task, last) => {
  const who = last?.change?.by ?? last?.ended?.by;
  const by = who ? html` by <code>${visible(who)}</code>` : nothing;
  return html`Cancelled ${ago(task.finishedAt)}${by}.`;
};

/**
 * What happens next, and when.
 *
 * @param {any} task
 * @param {object} known
 * @param {any} known.type its type, or null
 * @param {{used: number, total: number} | null} known.slots of all nodes, for keys that may see them
 * @param {any} known.last the newest entry of its history
 */
export const statusText = (task, { type, slots, last }) => {
  switch (task.status) {
    case 'PENDING':
      return pending(task, type, slots);
    case 'RUNNING':
      return running(task);
    case 'COMPLETED':
      return html`Completed ${ago(task.finishedAt)} on
      ${attempts(task)}${last?.attempt?.duration ? html` in ${duration(last.attempt.duration)}` : nothing}.`;
    case 'DEAD':
      return html`Dead since ${time(task.finishedAt)} (${ago(task.finishedAt)}), ${attempts(task)}. Redrive it to try
      again.`;
    case 'EXPIRED':
      return html`Expired: not started by ${time(task.expiresAt)}.`;
    default:
      return cancelled(task, last);
  }
};
