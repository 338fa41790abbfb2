// Brokers.

import { html, nothing } from 'lit';
import { badge, count, visible } from '../format.js';

/** The brokers as this node sees them. */
export const brokerTable = (brokers) => {
  if (brokers.length === 0) return nothing;
  return html`<section>
    <h2>Brokers</h2>
    <p class="muted">As seen by this node.</p>
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Broker</th>
            <th scope="col">Status</th>
            <th scope="col" class="num">In flight</th>
            <th scope="col" class="num">Confirmed</th>
            <th scope="col">Queue depth</th>
          </tr>
        </thead>
        <tbody>
          ${brokers.map(
            (broker) =>
              html`<tr>
                <th scope="row">${visible(broker.name)}</th>
                <td data-label="Status">
                  ${broker.reachable ? badge('ok', '✓', 'Reachable') : badge('dead', '✕', 'Unreachable')}
                </td>
                <td class="num" data-label="In flight">${count(broker.inFlight)}</td>
                <td class="num" data-label="Confirmed">${count(broker.published)}</td>
                <td data-label="Queue depth">
                  ${broker.depths.map((each) => html`<div>${visible(each.of)}: ${count(each.depth)}</div>`)}
                </td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
};
