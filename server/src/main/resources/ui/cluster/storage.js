// The database: its version and standbys, the partitions, the other tables.

import { html, nothing } from 'lit';
import { ago, badge, bytes, compact, count, duration, visible } from '../format.js';
import { bar } from './bar.js';

export const databaseFacts = (database) => {
  return html`<section>
    <h2>Database</h2>
    <div class="card">
      <dl class="facts">
        <dt>PostgreSQL</dt>
        <dd>${visible(database.version)}, timeline ${database.timeline ?? 'unknown'}</dd>
        <dt>Oldest transaction</dt>
        <dd>${duration(database.oldestTransaction)}</dd>
        <dt>Standbys</dt>
        <dd>
          ${database.standbys.length === 0 ? 'none' : nothing}
          ${database.standbys.map(
            (standby) =>
              html`<div>
                ${visible(standby.name ?? 'unnamed')}
                ${badge(standby.state === 'streaming' ? 'ok' : 'warn', '●', visible(standby.state ?? 'unknown'))}
                ${visible(standby.sync ?? '')}, lag ${duration(standby.lag)}
              </div>`,
          )}
        </dd>
      </dl>
    </div>
  </section>`;
};

/** The partitions by day, from GET /v1/cluster/storage. */
export const partitionTable = (storage) => {
  if (!storage) return nothing;
  const most = Math.max(1, ...storage.partitions.map((partition) => partition.bytes));
  const today = storage.at.slice(0, 10);
  return html`<section>
    <h2>Partitions</h2>
    <p class="muted">
      Tasks are stored by their UTC due day. A day is dropped once its retention is over and nothing in it is pending,
      running or dead.
    </p>
    <div class="table partitions">
      <table>
        <thead>
          <tr>
            <th scope="col">Day</th>
            <th scope="col">Size</th>
            <th scope="col" class="num">Rows</th>
            <th scope="col" class="num">Dead rows</th>
            <th scope="col">Last vacuum</th>
          </tr>
        </thead>
        <tbody>
          ${storage.partitions.map(
            (partition) =>
              html`<tr>
                <th scope="row">${partition.day} ${partition.day === today ? html`<small>today</small>` : nothing}</th>
                <td data-label="Size">
                  <div class="load">
                    ${bytes(partition.bytes)}
                    ${bar(partition.bytes, most, `${bytes(partition.bytes)} on ${partition.day}`)}
                  </div>
                </td>
                <td class="num" data-label="Rows">${compact(partition.rows)}</td>
                <td class="num" data-label="Dead rows">${compact(partition.deadRows)}</td>
                <td data-label="Last vacuum">${partition.lastVacuumAt ? ago(partition.lastVacuumAt) : '–'}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </section>`;
};

export const otherTables = (storage) => {
  if (!storage) return nothing;
  return html`<details class="card">
    <summary>Other tables (${count(storage.tables.length)})</summary>
    <div class="scroll" tabindex="0" role="region" aria-label="Other tables">
      <table>
        <thead>
          <tr>
            <th scope="col">Table</th>
            <th scope="col" class="num">Size</th>
            <th scope="col" class="num">Rows</th>
            <th scope="col" class="num">Dead rows</th>
          </tr>
        </thead>
        <tbody>
          ${storage.tables.map(
            (table) =>
              html`<tr>
                <th scope="row"><code>${visible(table.name)}</code></th>
                <td class="num">${bytes(table.bytes)}</td>
                <td class="num">${compact(table.rows)}</td>
                <td class="num">${compact(table.deadRows)}</td>
              </tr>`,
          )}
        </tbody>
      </table>
    </div>
  </details>`;
};
