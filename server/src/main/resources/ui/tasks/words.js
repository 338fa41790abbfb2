// A task in words: what happens next, why an attempt failed and what to do about it.

import { html, nothing } from 'lit';
import { ago, duration, firstLine, time, visible } from '../format.js';
import { href } from '../router.js';

const FAILURES = {
  status: 'The target answered, but not with a success.',
  timeout: 'The target had the request and did not answer in time.',
  connect_timeout: 'No connection within the time allowed: nothing was sent. Is the way to the target open?',
  dns: 'The name of the target could not be resolved: nothing was sent. Look at the host in its URL.',
  connection: 'No connection could be made: nothing was sent. Is the service up, and its port right?',
  tls: 'The target’s certificate was not accepted: nothing was sent.',
  address_not_allowed: 'Deliveries may not reach this address; whoever runs Carillon allows it with --allow-targets.',
  credential_missing: 'A secret of the target was not in the archive that the task was restored from: edit its target.',
  broken: 'The connection broke before there was an answer; the target may have done it all the same.',
  protocol: 'What came back is not HTTP, or too large.',
  unroutable: 'The broker has no such topic, exchange or queue.',
  broker_refused: 'The broker would not take the message.',
  broker_lost: 'The broker did not answer; this costs no attempt.',
  worker: 'The worker that had it reported this.',
  lease_lost: 'The worker was silent for too long; how far it got is not known.',
  shutdown: 'The node was stopped; this costs no attempt.',
  crashed: 'The node died while it ran it.',
  poison: 'Node after node died while they ran it. Find out why before you redrive it.',
};

const STATUSES = [
  [410, 410, 'The target says that it is gone for good.'],
  [401, 401, 'The target does not know who asks: look at the credentials in its headers.'],
  [403, 403, 'The target does not allow it: look at the credentials in its headers.'],
  [404, 404, 'The target has nothing at this address: look at its URL.'],
  [429, 429, 'The target had too many requests: redrive with a rate.'],
  [300, 399, 'Redirects are not followed: put the final address into the target.'],
  [400, 499, 'The target refused what it was sent: mend the payload or the target, then redrive.'],
  [500, 599, 'The target failed. Once it is well again, redrive.'],
];

/** What a failure means and what to do, or nothing. */
export const advice = (error) => {
  if (!error) return '';
  const byStatus =
    error.kind === 'status' && STATUSES.find(([low, high]) => error.status >= low && error.status <= high);
  return byStatus ? byStatus[2] : (FAILURES[error.kind] ?? '');
};

/** 'the target responded with 503' as it stands, or what can be said without. */
export const message = (error) => error?.message ?? error?.kind ?? '';

const SHOWN = 2_000;

/** The error to be read; of a very long one the head, with all of it beneath. */
export const errorText = (text, most = SHOWN) => {
  const shown = visible(text?.slice(0, most)).trim() || 'no error text';
  return text?.length > most
    ? html`<p class="error-text">${shown} …</p>
        ${most === SHOWN ? html`<c-json .value=${text} label="The whole error"></c-json>` : nothing}`
    : html`<p class="error-text">${shown}</p>`;
};

/** One line for a cell: the error, and the beginning of what the target said with it. */
export const errorLine = (task) => {
  if (!task.error) return nothing;
  const beside = task.error.kind === 'status' && task.status !== 'COMPLETED' ? task.output : null;
  const said = beside ? beside.slice(0, 500).replace(/\s+/g, ' ') : '';
  return html`<span
    ><span class="error-line">${firstLine(message(task.error))}</span> ${
      said ? html`<small>${firstLine(said)}</small>` : nothing
    }</span
  >`;
};

/** 'status 503', 'dns': the kind of a failure, short. */
export const kind = (failure, status) =>
  failure === 'status' && status ? `status ${status}` : visible(failure ?? 'unknown').replaceAll('_', ' ');

const attempts = (task) => `attempt ${task.attempt} of ${task.maxAttempts}`;

const suspectText = (task) =>
  (task.waitingFor ?? []).filter((each) => each.reason === 'suspect').map((each) => html` ${visible(each.text)}`);

const pending = (task, type) => {
  const ahead = Date.parse(task.nextAttemptAt) > Date.now() + 1000;
  const before = task.attempt > 0 ? html`${attempts(task)} failed; ` : nothing;
  const paused = type?.paused
    ? html` <strong>Its type is paused, so it does not start.</strong>
        <a href=${href('types', task.type)}>Go to the type</a>.`
    : nothing;
  const suspect = suspectText(task);
  if (ahead) {
    return html`Waits: ${before}${task.attempt > 0 ? 'the next one' : 'it'} starts ${ago(task.nextAttemptAt)}
    (${time(task.nextAttemptAt)}).${suspect}${paused}`;
  }
  const target = task.target ?? type?.target;
  const pulled = type && (!target || 'pull' in target);
  const who = pulled ? 'as soon as a worker asks for it' : 'as soon as there is room';
  return html`Due: ${before}it starts ${who}. It has waited since ${time(task.nextAttemptAt)}.${suspect}${paused}`;
};

const running = (task) =>
  task.waitingFor
    ? html`Claimed ${ago(task.startedAt)}${task.leasedBy ? html` by <code>${visible(task.leasedBy)}</code>` : nothing}
      and not started yet.${suspectText(task)}
      ${task.cancelRequested ? html`<strong>A cancel was requested: it ends without an attempt.</strong>` : nothing}`
    : html`Runs: ${attempts(task)} began
      ${ago(task.startedAt)}${
        task.leasedBy ? html` on <code>${visible(task.leasedBy)}</code>` : nothing
      }${task.leaseUntil ? html`; its lease ends ${ago(task.leaseUntil)}` : nothing}.
      ${task.cancelRequested ? html`<strong>A cancel was asked for: no further attempt starts.</strong>` : nothing}`;

const cancelled = (task, last) => {
  const who = last?.change?.by ?? last?.ended?.by;
  const by = who ? html` by <code>${visible(who)}</code>` : nothing;
  return html`Cancelled ${ago(task.finishedAt)}${by}. Nothing more happens.`;
};

const between = (from, to) => {
  const ms = Date.parse(to) - Date.parse(from);
  return ms >= 0 ? duration(`PT${ms / 1000}S`) : '';
};

/**
 * What happens next, and when, in a sentence or two.
 *
 * @param last the newest entry of its story
 */
export const nextWords = (task, type, last) => {
  switch (task.status) {
    case 'PENDING':
      return pending(task, type);
    case 'RUNNING':
      return running(task);
    case 'COMPLETED':
      return html`Completed ${ago(task.finishedAt)} on
      ${attempts(task)}${task.startedAt ? html`, which took ${between(task.startedAt, task.finishedAt)}` : nothing}.
      Nothing more happens.`;
    case 'DEAD':
      return html`Died ${ago(task.finishedAt)} (${time(task.finishedAt)}) on ${attempts(task)}. It stays dead until
      somebody redrives it.`;
    case 'EXPIRED':
      return html`Expired: it was not started by ${time(task.expiresAt)}. Nothing more happens.`;
    default:
      return cancelled(task, last);
  }
};
