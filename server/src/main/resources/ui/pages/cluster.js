// #/cluster: who runs tasks, and how the database is.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { ago, badge, bytes, compact, count, duration, plural, seconds, time, visible } from '../format.js';
import { Page } from '../page.js';
import { loading, problem, tile } from '../parts.js';
import { brokers } from '../cluster/broker-metrics.js';
import { OLD_SNAPSHOT } from '../overview/attention.js';

const WRONG_CLOCK = 1;

const STATUS = {
  ALIVE: ['ok', '✓', 'Alive'],
  DRAINING: ['warn', '◐', 'Draining'],
  SILENT: ['dead', '✕', 'Not responding'],
  LEFT: ['off', '⊘', 'Stopped'],
};

const isMember = (node) => node.status === 'ALIVE' || node.status === 'DRAINING';

/** Tasks that a dead node ran and that have not ended since; also of a cluster. */
const suspectsOf = (node) => (node.suspects?.waiting ?? 0) + (node.suspects?.running ?? 0);

/** A share of the whole as a bar, with words for those who do not see it. */
const bar = (value, most, label) =>
  html`<progress class="bar" value=${value} max=${Math.max(1, most)} aria-label=${label}></progress>`;

class ClusterPage extends Page {
  static properties = {
    cluster: { state: true },
    storage: { state: true },
    brokers: { state: true },
    rates: { state: true },
  };

  constructor() {
    super();
    this.cluster = null;
    this.storage = null;
    this.brokers = [];
    /** Attempts that ended, per second, by node: from the last two looks. */
    this.rates = new Map();
  }

  get heading() {
    return 'Cluster';
  }

  connectedCallback() {
    super.connectedCallback();
    this.every(5_000, () => this.reload());
    this.every(15_000, () => this.#lookDeeper().catch(() => {}));
  }

  async load(signal) {
    const before = this.cluster;
    const { data } = await api.get('/v1/cluster', { signal });
    if (before) this.rates = this.#rates(before, data);
    this.cluster = data;
    if (!this.storage) await this.#lookDeeper(signal);
  }

  async #lookDeeper(signal) {
    const [storage, metrics] = await Promise.all([
      api.get('/v1/cluster/storage', { signal }),
      api.open('/metrics', { signal }).then((answer) => answer.text()),
    ]);
    this.storage = storage.data;
    this.brokers = brokers(metrics);
  }

  #rates(before, now) {
    const passed = (Date.parse(now.at) - Date.parse(before.at)) / 1000;
    if (passed <= 0) return this.rates;
    const old = new Map(before.nodes.map((node) => [node.id, node.ended]));
    return new Map(
      now.nodes.filter((node) => old.has(node.id)).map((node) => [node.id, (node.ended - old.get(node.id)) / passed]),
    );
  }

  render() {
    const { cluster } = this;
    return html`
      <h1>Cluster</h1>
      ${problem(this.error)}
      ${
        cluster
          ? html`${this.#tiles()} ${this.#warnings()} ${this.#nodes()} ${this.#shards()} ${this.#brokers()}
            ${this.#database()} ${this.#partitions()} ${this.#tables()}`
          : this.error
            ? nothing
            : loading()
      }
    `;
  }

  #tiles() {
    const { cluster, storage } = this;
    const members = cluster.nodes.filter(isMember);
    const inFlight = members.reduce((sum, node) => sum + node.inFlight, 0);
    const seats = members.reduce((sum, node) => sum + node.seats, 0);
    const leader = cluster.nodes.find((node) => node.id === cluster.leader?.node);
    const suspects = suspectsOf(cluster);
    return html`<dl class="tiles">
      ${tile('Nodes', count(members.length), members.length < cluster.nodes.length ? `${cluster.nodes.length - members.length} recently left` : 'all alive')}
      ${tile('Leader', leader ? visible(leader.name) : (cluster.leader?.node ?? 'none'), cluster.leader ? html`term ${count(cluster.leader.term)}, since ${ago(cluster.leader.since)}` : 'electing…')}
      ${tile('In flight', count(inFlight), `of ${plural(seats, 'slot')}`)}
      ${tile('Lag', duration(cluster.lag), 'longest-waiting task')}
      ${suspects > 0 ? tile('Suspects', count(suspects), `${count(cluster.suspects.waiting)} waiting, ${count(cluster.suspects.running)} running`) : nothing}
      ${tile('Oldest snapshot', duration(storage?.oldestSnapshot), 'blocks vacuum')}
      ${tile('Dead rows', compact(storage?.deadRows), 'awaiting vacuum')}
      ${tile('Size', bytes(storage?.bytes), 'tables and indexes')}
    </dl>`;
  }

  #warnings() {
    const { cluster, storage } = this;
    const all = [];
    if (!cluster.leader) {
      all.push(
        'No leader. Schedules and crash recovery are on hold; this should last only seconds.',
      );
    }
    for (const node of cluster.nodes.filter((each) => each.status === 'SILENT')) {
      all.push(`Node ${visible(node.name)} is not responding. Other nodes will take over its tasks.`);
    }
    if (suspectsOf(cluster) > 0) {
      all.push(
        `${plural(suspectsOf(cluster), 'task')} ran on a node that crashed. They start again in small groups, to find a task that crashes nodes without harm to the others.`,
      );
    }
    for (const node of cluster.nodes.filter(
      (each) => isMember(each) && Math.abs(seconds(each.clockOffset) ?? 0) > WRONG_CLOCK,
    )) {
      all.push(
        `Clock of ${visible(node.name)} is off by ${duration(node.clockOffset)}. Tasks are unaffected: the database clock is used.`,
      );
    }
    if ((seconds(storage?.oldestSnapshot) ?? 0) > OLD_SNAPSHOT) {
      all.push(
        `A transaction has been open for ${duration(storage.oldestSnapshot)}. It blocks vacuum and slows everything down. Find it in pg_stat_activity.`,
      );
    }
    return all.map((text) => html`<div class="alert warn" role="alert">${text}</div>`);
  }

  #nodes() {
    const { cluster } = this;
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
            ${cluster.nodes.map((node) => this.#node(node))}
          </tbody>
        </table>
      </div>
    </section>`;
  }

  #node(node) {
    const rate = this.rates.get(node.id);
    return html`<tr>
      <th scope="row">
        <div>
          ${visible(node.name)} ${node.id === this.cluster.leader?.node ? badge('running', '★', 'Leader') : nothing}
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
  }

  #shards() {
    const { nodes, shards } = this.cluster;
    const members = nodes.filter((node) => node.shards.length > 0);
    const owner = new Map(members.flatMap((node, i) => node.shards.map((shard) => [shard, i])));
    const cells = Array.from({ length: shards.total }, (_, shard) => {
      const i = owner.get(shard);
      const text = i === undefined ? `shard ${shard}: unassigned` : `shard ${shard}: ${visible(members[i].name)}`;
      return html`<span class="shard ${i === undefined ? '' : `shard-${i % 6}`}" title=${text}
        >${i === undefined ? '' : i + 1}</span
      >`;
    });
    return html`<section>
      <h2>Shards</h2>
      <div class="card">
        <p>
          ${plural(shards.total, 'shard')}${shards.unassigned > 0 ? html`, <strong>${count(shards.unassigned)} unassigned</strong>` : nothing}.
          ${shards.lastMovedAt ? html`Last rebalanced ${ago(shards.lastMovedAt)}.` : nothing}
          ${members.map((node, i) => html`<small>${i + 1} = ${visible(node.name)} (${count(node.shards.length)}) </small>`)}
        </p>
        <div class="shards" role="img" aria-label="Each shard with the number of its node">${cells}</div>
      </div>
    </section>`;
  }

  #brokers() {
    if (this.brokers.length === 0) return nothing;
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
            ${this.brokers.map(
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
  }

  #database() {
    const { database } = this.cluster;
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
  }

  #partitions() {
    const { storage } = this;
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
                      ${bytes(partition.bytes)} ${bar(partition.bytes, most, `${bytes(partition.bytes)} on ${partition.day}`)}
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
  }

  #tables() {
    const { storage } = this;
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
  }
}
customElements.define('page-cluster', ClusterPage);
