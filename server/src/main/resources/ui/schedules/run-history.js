// Every run of a schedule so far, page by page.

import { html, nothing } from 'lit';
import { localTime, time } from '../format.js';
import { choices, problem } from '../parts.js';
import { href, setQuery } from '../router.js';
import { localText, outcomeBadge, reasonOf } from './fires.js';

const OUTCOMES = [
  ['', 'All runs'],
  ['task', 'Created a task'],
  ['skipped', 'Skipped'],
];

const row = (fire) => {
  return html`<tr>
    <th scope="row">
      <div>${localText(fire.local)}${fire.note ? html`<div class="note">${fire.note}</div>` : nothing}</div>
    </th>
    <td data-label="Your time">${time(fire.at)}</td>
    <td data-label="Trigger">${fire.kind}</td>
    <td data-label="Outcome">${outcomeBadge(fire)}</td>
    <td data-label="Task / reason">
      ${
        fire.taskId
          ? html`<a class="id" href=${href('tasks', fire.taskId)}>${fire.taskId}</a>`
          : html`<span class="muted">${reasonOf(fire)?.[0] ?? fire.reason}</span>`
      }
    </td>
  </tr>`;
};

/**
 * @param {import('../parts/paging.js').PagedList} pages
 * @param {Record<string, string>} filter outcome, from and to
 * @param {string} zone of the schedule
 */
export const runHistory = (pages, filter, zone) => {
  const set = (name, value) => setQuery({ ...filter, [name]: value });
  const moment = (name, text) =>
    html`<label
      >${text}
      <input
        type="datetime-local"
        class="small"
        .value=${localTime(filter[name])}
        @change=${(e) => set(name, e.target.value ? new Date(e.target.value).toISOString() : '')}
    /></label>`;
  return html`<section aria-labelledby="fires">
    <h2 id="fires">Run history</h2>
    <div class="row filters">
      <label
        >Show
        <select class="small" @change=${(e) => set('outcome', e.target.value)}>
          ${choices(OUTCOMES, filter.outcome ?? '')}
        </select>
      </label>
      ${moment('from', 'From')} ${moment('to', 'To')}
    </div>
    ${problem(pages.error)}
    ${
      pages.items.length === 0
        ? html`<p class="muted">${pages.ready ? 'No runs yet.' : 'Loading …'}</p>`
        : html`<div class="table">
            <table>
              <thead>
                <tr>
                  ${[`Scheduled time (${zone})`, 'Your time', 'Trigger', 'Outcome', 'Task / reason'].map(
                    (text) => html`<th scope="col">${text}</th>`,
                  )}
                </tr>
              </thead>
              <tbody>
                ${pages.items.map((fire) => row(fire))}
              </tbody>
            </table>
          </div>`
    }
    <c-pager .pages=${pages}></c-pager>
  </section>`;
};
