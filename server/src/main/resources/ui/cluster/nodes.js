// Nodes and shards.

import { html, nothing } from 'lit';
import { ago, badge, compact, count, duration, plural, time, visible } from '../format.js';
import { bar } from './bar.js';

const STATUS = {
  ALIVE: ['ok', '✓', 'Alive'],
  DRAINING: ['warn', '◐', 'Draining'],
  SILENT: ['dead', '✕', 'Not responding'],
  LEFT: ['off', '⊘', 'Stopped'],
};

export const isMember = (node) => node.status === 'ALIVE' || node.status === 'DRAINING';

/** The suspects of a node or of the cluster: unfinished tasks that a crashed node was running. */
export const suspectsOf = (node) => (node.suspects?.waiting ?? 0) + (node.suspects?.running ?? 0);

const nodeRow = (node, leader, rate) => {
  return html`<tr>
    <th scope="row">
      <div>
        ${visible(node.name)} ${node.id === leader ? badge('running', '★', 'Leader') : nothing}
        <br /><small title=${node.id}
          >${node.roles.join(', ')} ·
          ${node.version}${node.address ? html` · ${visible(node.address)}` : nothing}</small
        >
      </div>
    </th>
    <td data-label="Status">${badge(...(STATUS[node.status] ?? ['off', '·', node.status]))}</td>
    <td data-label="In flight">
      <div class="load">
        ${count(node.inFlight)} of ${count(node.seats)}
        ${bar(node.inFlight, node.seats, `${node.inFlight} of ${node.seats} slots in use`)}
        ${
          isMember(node) && suspectsOf(node) > 0
            ? html`<small
                >suspects: ${count(node.suspects.waiting)} waiting, ${count(node.suspects.running)} running</small
              >`
            : nothing
        }
      </div>
    </td>
    <td class="num" data-label="Finished" title="${count(node.ended)} since start">
      ${rate === undefined ? compact(node.ended) : `${compact(Math.round(rate * 10) / 10)}/s`}
    </td>
    <td class="num" data-label="Lag">${duration(node.lag)}</td>
    <td class="num" data-label="Clock">${duration(node.clockOffset)}</td>
    <td class="num" data-label="Shards">${count(node.shards.length)}</td>
    <td data-label="Heartbeat">${node.renewedAt ? ago(node.renewedAt) : '–'}</td>
    <td data-label="Started">${time(node.startedAt)}</td>
  </tr>`;
};

/**
 * @param {any} cluster
 * @param {Map<string, number>} rates attempts that ended, per second, by node
 */
export const nodeTable = (cluster, rates) => {
  return html`<section>
    <h2>Nodes</h2>
    <div class="table">
      <table>
        <thead>
          <tr>
            <th scope="col">Node</th>
            <th scope="col">Status</th>
            <th scope="col">In flight</th>
            <th scope="col" class="num">Finished</th>
            <th scope="col" class="num">Lag</th>
            <th scope="col" class="num">Clock</th>
            <th scope="col" class="num">Shards</th>
            <th scope="col">Heartbeat</th>
            <th scope="col">Started</th>
          </tr>
        </thead>
        <tbody>
          ${cluster.nodes.map((node) => nodeRow(node, cluster.leader?.node, rates.get(node.id)))}
        </tbody>
      </table>
    </div>
  </section>`;
};

/** Every shard with the number of its node. */
export const shardMap = ({ nodes, shards }) => {
  const members = nodes.filter((node) => node.shards.length > 0);
  const isOnOneNode = members.length === 1 && shards.unassigned === 0;
  const owner = new Map(members.flatMap((node, i) => node.shards.map((shard) => [shard, i])));
  const cells = Array.from({ length: shards.total }, (_, shard) => {
    const i = owner.get(shard);
    const text = i === undefined ? `shard ${shard}: unassigned` : `shard ${shard}: ${visible(members[i].name)}`;
    return html`<span class="shard ${i === undefined ? '' : `shard-${i % 6}`}" title=${text}
      >${i === undefined ? '' : i + 1}</span
    >`;
  });
  const legend = members.map(
    (node, i) => html`<small>${i + 1} = ${visible(node.name)} (${count(node.shards.length)}) </small>`,
  );
  return html`<section>
    <h2>Shards</h2>
    <div class="card">
      <p>
        ${plural(shards.total, 'shard')}${isOnOneNode ? `, all on ${visible(members[0].name)}` : nothing}${
          shards.unassigned > 0 ? html`, <strong>${count(shards.unassigned)} unassigned</strong>` : nothing
        }.
        ${shards.lastMovedAt ? html`Last rebalanced ${ago(shards.lastMovedAt)}.` : nothing}
        ${isOnOneNode ? nothing : legend}
      </p>
      ${
        isOnOneNode
          ? nothing
          : html`<div class="shards" role="img" aria-label="Each shard with the number of its node">${cells}</div>`
      }
    </div>
  </section>`;
};
