// The table of tasks, and what is shown when there are none.

import { html } from 'lit';
import { api } from '../api.js';
import { curlIf, ownType } from '../curl.js';
import { ago, stateOf, status as statusBadge, visible } from '../format.js';
import { live } from '../live.js';
import { empty } from '../parts.js';
import { href } from '../router.js';
import { errorLine } from './descriptions.js';

const isPaused = (type) => live.stats?.types?.find((each) => each.type === type)?.paused === true;

const row = (task, { isSelected, select }) =>
  html`<tr class="linked">
    <td>
      <input
        type="checkbox"
        aria-label="Select ${task.type} ${visible(task.key ?? task.id)}"
        .checked=${isSelected(task)}
        @change=${(e) => select(task.id, e.target.checked)}
      />
    </td>
    <td class="first">${statusBadge(stateOf(task, isPaused(task.type)))}</td>
    <td data-label="Type"><a href=${href('tasks', task.id)} title=${task.id}>${task.type}</a></td>
    <td data-label="Key">
      ${task.key ? html`<span class="clip">${visible(task.key)}</span>` : html`<span class="muted">–</span>`}
    </td>
    <td class="id" title=${task.id}>${task.id.slice(-12)}</td>
    ${
      task.status === 'PENDING'
        ? html`<td data-label="Next attempt" class="due">${ago(task.nextAttemptAt)}</td>`
        : html`<td data-label="Due" class="due">${ago(task.dueAt)}</td>`
    }
    <td data-label="Attempt" class="num">${task.attempt} of ${task.maxAttempts}</td>
    <td data-label="Last error" class="clip-cell">${errorLine(task)}</td>
  </tr>`;

/**
 * @param {any[]} items
 * @param {object} view
 * @param {string} view.status the status that is filtered by, or ''
 * @param {boolean} view.isEvery whether all of them are selected
 * @param {(task: any) => boolean} view.isSelected
 * @param {(id: string, on: boolean) => void} view.select
 * @param {(on: boolean) => void} view.selectAll
 */
export const taskTable = (items, view) =>
  html`<div class="table" tabindex="0" role="region" aria-label="Tasks">
    <table class="tasks">
      <thead>
        <tr>
          <th scope="col">
            <input
              type="checkbox"
              aria-label="Select all on this page"
              .checked=${view.isEvery}
              @change=${(e) => view.selectAll(e.target.checked)}
            />
          </th>
          <th scope="col">Status</th>
          <th scope="col">Type</th>
          <th scope="col">Key</th>
          <th scope="col">ID</th>
          <th scope="col">${view.status === 'PENDING' ? 'Next attempt' : 'Due'}</th>
          <th scope="col" class="num">Attempt</th>
          <th scope="col">Last error</th>
        </tr>
      </thead>
      <tbody>
        ${items.map((task) => row(task, view))}
      </tbody>
    </table>
  </div>`;

export const noTasks = (isFiltered) => {
  if (isFiltered) {
    return empty({
      title: 'No tasks match',
      text: html`Try removing a filter, or <a href=${href('tasks')}>show all tasks</a>.`,
    });
  }
  const what = 'A task is work to run once: now or at any time up to two years ahead.';
  return empty({
    title: ownType('') ? "No tasks yet for this key's types" : 'No tasks yet',
    text: api.may('TASKS_CREATE') ? `${what} Create one; this example completes immediately.` : what,
    curl: curlIf('TASKS_CREATE', 'POST', '/v1/tasks', {
      type: ownType('hello'),
      key: 'first',
      payload: { to: 'world' },
      target: { discard: {} },
    }),
  });
};
