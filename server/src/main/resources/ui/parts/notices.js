// Errors, empty states, loading states and tiles.

import { html, nothing } from 'lit';
import { visible } from '../format.js';
import './json.js';

/**
 * An error as an alert, with the invalid fields. Nothing for null.
 *
 * @param {any} e
 */
export const problem = (e) => {
  if (!e) return nothing;
  const title = e.title ?? 'Something went wrong';
  const detail = e.detail ?? e.message;
  // The API repeats the first of its errors in the detail.
  const isListed = e.errors?.some((each) => detail?.startsWith(`${each.pointer}: `));
  return html`
    <div class="alert" role="alert">
      <strong>${visible(title)}</strong>
      ${detail && detail !== title && !isListed ? html`<p>${visible(detail)}</p>` : nothing}
      ${
        e.errors?.length > 0
          ? html`<ul>
              ${e.errors.map(
                (each) => html`<li><code>${visible(each.pointer)}</code> ${visible(each.message ?? each.detail)}</li>`,
              )}
            </ul>`
          : nothing
      }
      ${e.requestId ? html`<small>request <code>${e.requestId}</code></small>` : nothing}
    </div>
  `;
};

/**
 * An empty state: what would be here, and how to create the first one.
 *
 * @param {{title: unknown, text?: unknown, curl?: string | null}} what
 */
export const empty = ({ title, text, curl }) => html`
  <div class="empty">
    <h2>${title}</h2>
    ${text ? html`<p>${text}</p>` : nothing} ${curl ? html`<c-json .value=${curl} label="Command"></c-json>` : nothing}
  </div>
`;

/** A number with its name above and a note below, in a <dl class="tiles">. */
export const tile = (name, value, note, link) =>
  html`<div class="tile">
    <dt>${name}</dt>
    <dd>${link ? html`<a href=${link}>${value}</a>` : value}</dd>
    <dd>${note}</dd>
  </div>`;

export const loading = (text = 'Loading') => html`<p class="loading" role="status">${text} …</p>`;
