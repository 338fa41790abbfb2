// Dead letters by error: the table of groups, and the head of one group.

import { html, nothing } from 'lit';
import { ago, count, firstLine, plural, time, visible } from '../format.js';
import { href } from '../router.js';
import { errorText, kind } from '../tasks/descriptions.js';

const row = (group, most, actions) => {
  const { type, group: fingerprint } = group;
  return html`<tr>
    <td data-label="Error" class="wide-cell">
      <a
        href=${href('dead-letters', { view: 'letters', type, group: fingerprint })}
        title=${visible(group.error).slice(0, 1000)}
        >${firstLine(group.error) || 'no error message'}</a
      >
      ${group.failure === 'status' ? nothing : html`<small>${kind(group.failure, group.status)}</small>`}
    </td>
    <td data-label="Type"><a href=${href('types', type)}>${type}</a></td>
    <td data-label="Count" class="num">${count(group.letters)}</td>
    <td class="share">
      <progress class="bar dead" max=${most} value=${group.letters} aria-label="Share of the largest group"></progress>
    </td>
    <td data-label="Last seen">${ago(group.lastSeenAt)}</td>
    <td data-label="First seen">${ago(group.firstSeenAt)}</td>
    <td>${actions({ type, group: fingerprint }, `${fingerprint} ${type}`)}</td>
  </tr>`;
};

/**
 * @param {any[]} groups
 * @param {(body: object, name: string) => unknown} actions the buttons for the dead letters that a body selects
 */
export const groupTable = (groups, actions) => {
  const most = Math.max(1, ...groups.map((each) => each.letters));
  return html`<div class="table" tabindex="0" role="region" aria-label="Groups of dead letters">
    <table>
      <thead>
        <tr>
          <th scope="col">Error</th>
          <th scope="col">Type</th>
          <th scope="col" class="num">Count</th>
          <th scope="col"><span class="unseen">Share</span></th>
          <th scope="col">Last seen</th>
          <th scope="col">First seen</th>
          <th scope="col"><span class="unseen">Actions</span></th>
        </tr>
      </thead>
      <tbody>
        ${groups.map((each) => row(each, most, actions))}
      </tbody>
    </table>
  </div>`;
};

/** What the dead letters of a group have in common. */
export const groupHead = (group) => {
  if (!group) return nothing;
  return html`<section class="why" aria-label="This group">
    ${errorText(group.error ?? '')}
    <p>
      ${kind(group.failure, group.status)} in <a href=${href('types', group.type)}>${group.type}</a>:
      <strong>${plural(group.letters, 'dead letter')}</strong>, ${plural(group.deaths, 'failure')} since
      ${time(group.firstSeenAt)}, last ${ago(group.lastSeenAt)}.
    </p>
  </section>`;
};
