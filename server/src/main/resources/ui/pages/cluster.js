// #/cluster: nodes, shards, brokers and the database.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { ago, bytes, compact, count, duration, plural, seconds, visible } from '../format.js';
import { Page } from '../page.js';
import { loading, problem, tile } from '../parts.js';
import { brokers } from '../cluster/broker-metrics.js';
import { brokerTable } from '../cluster/brokers.js';
import { isMember, nodeTable, shardMap, suspectsOf } from '../cluster/nodes.js';
import { databaseFacts, otherTables, partitionTable } from '../cluster/storage.js';
import { OLD_SNAPSHOT } from '../overview/attention.js';

const MAX_CLOCK_OFFSET = 1;

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
    /** Finished attempts per second by node, from the last two responses. */
    this.rates = new Map();
  }

  get heading() {
    return 'Cluster';
  }

  connectedCallback() {
    super.connectedCallback();
    this.every(5_000, () => this.reload());
    this.every(15_000, () => this.#loadStorage().catch(() => {}));
  }

  async load(signal) {
    const before = this.cluster;
    const { data } = await api.get('/v1/cluster', { signal });
    if (before) this.rates = this.#rates(before, data);
    this.cluster = data;
    if (!this.storage) await this.#loadStorage(signal);
  }

  async #loadStorage(signal) {
    const [storage, metrics] = await Promise.all([
      api.get('/v1/cluster/storage', { signal }),
      api.open('/metrics', { signal }).then((response) => response.text()),
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
          ? html`${this.#tiles()} ${this.#warnings()} ${nodeTable(cluster, this.rates)} ${shardMap(cluster)}
            ${brokerTable(this.brokers)} ${databaseFacts(cluster.database)} ${partitionTable(this.storage)}
            ${otherTables(this.storage)}`
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
    const slots = members.reduce((sum, node) => sum + node.seats, 0);
    const leader = cluster.nodes.find((node) => node.id === cluster.leader?.node);
    const suspects = suspectsOf(cluster);
    return html`<dl class="tiles">
      ${tile(
        'Nodes',
        count(members.length),
        members.length < cluster.nodes.length ? `${cluster.nodes.length - members.length} recently left` : 'all alive',
      )}
      ${tile(
        'Leader',
        leader ? visible(leader.name) : (cluster.leader?.node ?? 'none'),
        cluster.leader ? html`term ${count(cluster.leader.term)}, since ${ago(cluster.leader.since)}` : 'electing…',
      )}
      ${tile('In flight', count(inFlight), `of ${plural(slots, 'slot')}`)}
      ${tile('Lag', duration(cluster.lag), 'longest-waiting task')}
      ${
        suspects > 0
          ? tile(
              'Suspects',
              count(suspects),
              `${count(cluster.suspects.waiting)} waiting, ${count(cluster.suspects.running)} running`,
            )
          : nothing
      }
      ${tile('Oldest snapshot', duration(storage?.oldestSnapshot), 'blocks vacuum')}
      ${tile('Dead rows', compact(storage?.deadRows), 'awaiting vacuum')}
      ${tile('Size', bytes(storage?.bytes), 'tables and indexes')}
    </dl>`;
  }

  #warnings() {
    const { cluster, storage } = this;
    const all = [];
    if (!cluster.leader) {
      all.push('No leader. Schedules and crash recovery are on hold; this should last only seconds.');
    }
    for (const node of cluster.nodes.filter((each) => each.status === 'SILENT')) {
      all.push(`Node ${visible(node.name)} is not responding. Other nodes will take over its tasks.`);
    }
    if (suspectsOf(cluster) > 0) {
      all.push(
        `${plural(suspectsOf(cluster), 'task')} ran on a node that crashed. They start again in small groups, ` +
          'to find a task that crashes nodes without harm to the others.',
      );
    }
    for (const node of cluster.nodes.filter(
      (each) => isMember(each) && Math.abs(seconds(each.clockOffset) ?? 0) > MAX_CLOCK_OFFSET,
    )) {
      all.push(
        `Clock of ${visible(node.name)} is off by ${duration(node.clockOffset)}. ` +
          'Tasks are unaffected: the database clock is used.',
      );
    }
    if ((seconds(storage?.oldestSnapshot) ?? 0) > OLD_SNAPSHOT) {
      all.push(
        `A transaction has been open for ${duration(storage.oldestSnapshot)}. ` +
          'It blocks vacuum and slows everything down. Find it in pg_stat_activity.',
      );
    }
    return all.map((text) => html`<div class="alert warn" role="alert">${text}</div>`);
  }
}
customElements.define('page-cluster', ClusterPage);
