// What a task is: its settings, times, payload and output.

import { html, nothing } from 'lit';
import { ago, time, visible } from '../format.js';
import { href } from '../router.js';
import { delaysText, shownHeaders, targetText } from '../types/target.js';

const fact = (name, value) =>
  value === null || value === undefined || value === '' || value === nothing
    ? nothing
    : html`<dt>${name}</dt>
        <dd>${value}</dd>`;

const delays = (task, type) => {
  const policy = task.retry ?? type?.retry;
  if (!policy?.backoff) return nothing;
  return html` <small>${delaysText(policy)}</small>`;
};

/**
 * @param {any} task
 * @param {any} type its type, or null if it is not known
 */
export const taskFacts = (task, type) => {
  const target = task.target ?? type?.target;
  const where = target ? targetText(target) : type ? 'Pull worker' : 'From the type';
  const inherited = task.target || !type ? '' : 'from the type';
  const headers = shownHeaders(target);
  const metadata = Object.entries(task.metadata ?? {});
  return html`<section class="card" aria-label="Details">
    <dl class="facts">
      ${fact('ID', html`<code class="wrap">${task.id}</code> <c-copy .text=${task.id} label="Copy ID"></c-copy>`)}
      ${fact('Type', html`<a href=${href('types', task.type)}>${task.type}</a>`)}
      ${fact('Key', task.key ? html`<a href=${href('tasks', { key: task.key })}>${visible(task.key)}</a>` : '')}
      ${fact('Target', html`<span class="wrap">${where}</span> <small>${inherited}</small>`)}
      ${
        headers.length > 0
          ? fact(
              'Headers',
              headers.map((line) => html`<div><code class="wrap">${line}</code></div>`),
            )
          : nothing
      }
      ${fact('Attempts', html`${task.attempt} of ${task.maxAttempts}${delays(task, type)}`)}
      ${fact('Due', html`${time(task.dueAt)} <small>${ago(task.dueAt)}</small>`)}
      ${fact('Created', time(task.createdAt))} ${task.startedAt ? fact('Started', time(task.startedAt)) : nothing}
      ${task.finishedAt ? fact('Finished', time(task.finishedAt)) : nothing}
      ${task.expiresAt ? fact('Expires', html`${time(task.expiresAt)} <small>if not started by then</small>`) : nothing}
      ${fact('Priority', task.priority)}
      ${fact(
        'Schedule',
        task.scheduleName
          ? html`<a href=${href('schedules', task.scheduleName)}>${visible(task.scheduleName)}</a> for
              ${time(task.fireAt)}`
          : '',
      )}
      ${fact('Concurrency key', task.concurrencyKey ? visible(task.concurrencyKey) : '')}
      ${fact('Node / worker', task.leasedBy ? html`<code class="wrap">${visible(task.leasedBy)}</code>` : '')}
      ${fact('Progress', task.progress ? visible(task.progress) : '')}
      ${task.crashes > 0 ? fact('Crashes', html`${task.crashes} <small>node crashes while running</small>`) : nothing}
      ${metadata.map(([name, value]) =>
        fact(visible(name), html`<a href=${href('tasks', { [`metadata.${name}`]: value })}>${visible(value)}</a>`),
      )}
    </dl>
  </section>`;
};

/** The payload, and what a completed task returned. */
export const taskContents = (task) => {
  return html`
    ${
      task.payload === null
        ? html`<p class="muted">No payload.</p>`
        : html`<c-json .value=${task.payload} label="Payload"></c-json>`
    }
    ${
      task.output && task.status === 'COMPLETED'
        ? html`<c-json json .value=${task.output} label="Response"></c-json>`
        : nothing
    }
  `;
};
