// The table of dead letters, and what is shown when there are none.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { curlIf, ownType } from '../curl.js';
import { ago, visible } from '../format.js';
import { empty } from '../parts.js';
import { href } from '../router.js';
import { editById, redrive } from '../tasks/actions.js';
import { errorLine } from '../tasks/descriptions.js';

const buttons = (letter, { doing, act }) => {
  if (!api.may('TASKS_OPERATE')) return nothing;
  return html`<div class="row">
    <button
      type="button"
      class="small"
      aria-busy=${doing === letter.id}
      ?disabled=${doing !== ''}
      @click=${() => act(letter.id, () => redrive(letter))}
    >
      Redrive
    </button>
    <button
      type="button"
      class="small outline"
      ?disabled=${doing !== ''}
      @click=${() => act(letter.id, () => editById(letter.id, { redrive: true }))}
    >
      Edit and redrive
    </button>
  </div>`;
};

const row = (letter, view) =>
  html`<tr class="linked">
    <td>
      <input
        type="checkbox"
        aria-label="Select ${letter.type} ${visible(letter.key ?? letter.id)}"
        .checked=${view.selected.has(letter.id)}
        @change=${(e) => view.select([letter.id], e.target.checked)}
      />
    </td>
    <td class="first">${ago(letter.diedAt)}</td>
    <td data-label="Type"><a href=${href('tasks', letter.id)} title=${letter.id}>${letter.type}</a></td>
    <td data-label="Key">
      ${letter.key ? html`<span class="clip">${visible(letter.key)}</span>` : html`<span class="muted">–</span>`}
    </td>
    <td data-label="Attempts" class="num">${letter.attempt}</td>
    <td data-label="Error" class="clip-cell">${errorLine(letter)}</td>
    <td>${buttons(letter, view)}</td>
  </tr>`;

/**
 * @param {any[]} items
 * @param {object} view
 * @param {Set<string>} view.selected
 * @param {(ids: string[], on: boolean) => void} view.select
 * @param {string} view.doing what is being done, or ''
 * @param {(name: string, action: () => unknown) => void} view.act
 */
export const letterTable = (items, view) =>
  html`<div class="table" tabindex="0" role="region" aria-label="Dead letters">
    <table class="tasks">
      <thead>
        <tr>
          <th scope="col">
            <input
              type="checkbox"
              aria-label="Select all on this page"
              .checked=${items.every((each) => view.selected.has(each.id))}
              @change=${(e) =>
                view.select(
                  items.map((each) => each.id),
                  e.target.checked,
                )}
            />
          </th>
          <th scope="col">Failed</th>
          <th scope="col">Type</th>
          <th scope="col">Key</th>
          <th scope="col" class="num">Attempts</th>
          <th scope="col">Error</th>
          <th scope="col"><span class="unseen">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        ${items.map((each) => row(each, view))}
      </tbody>
    </table>
  </div>`;

export const noLetters = () => {
  const what = 'A task that has used up its attempts stays here until you redrive or purge it.';
  return empty({
    title: 'No dead letters',
    text: api.may('TASKS_CREATE') ? `${what} Try it: this task fails immediately.` : what,
    curl: curlIf('TASKS_CREATE', 'POST', '/v1/tasks', {
      type: ownType('broken'),
      payload: { hello: 'world' },
      target: { http: { url: `${location.origin}/nothing-here` } },
      retry: { maxAttempts: 1 },
    }),
  });
};
