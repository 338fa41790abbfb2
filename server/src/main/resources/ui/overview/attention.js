// What needs attention, worst first, from the responses of the API.

import { api, isFinal } from '../api.js';
import { agoText, count, duration, firstLine, plural, seconds, span } from '../format.js';
import { brokers } from '../cluster/broker-metrics.js';
import { href } from '../router.js';
import { outcomeOf } from '../schedules/fires.js';

const HOUR = 3_600;
const OLD_DUE = 60;
/** Seconds after which an open transaction is reported. */
export const OLD_SNAPSHOT = 300;
const MAX_SCHEDULES = 500;
const MAX_PER_KIND = 5;
const MAX_TYPES = 20;
/** The used share of a tenant's limit from which it is reported. */
const NEARLY_FULL = 0.9;

/** Seconds from `iso` to the server's `now`. */
const age = (now, iso) => (iso ? (Date.parse(now) - Date.parse(iso)) / 1000 : -Infinity);

/**
 * `text` is a function because it is evaluated on each render: "3 m ago" changes.
 *
 * @typedef {{tone: 'bad'|'warn'|'info', what: string, text: () => string, href: string, action: string}} Item
 */

/** From GET /v1/stats, which the stream sends every 2 s. @returns {Item[]} */
export const fromStats = (stats) => {
  const items = [];
  for (const type of stats.types ?? []) {
    const link = href('types', type.type);
    const late = age(stats.seenAt.due, type.oldestDue);
    if (type.paused) {
      const due =
        type.due > 0 ? `${plural(type.due, 'task')}${type.dueAtLeast ? ' or more' : ''} ready` : 'no tasks ready';
      items.push({ tone: 'info', what: `Type ${type.type} is paused`, text: () => due, href: link, action: 'Resume' });
    } else if (late > OLD_DUE) {
      const text = () =>
        `${plural(type.due, 'task')} ready, oldest waiting ${span(late)}; ${count(type.running)} in flight`;
      items.push({ tone: 'bad', what: `${type.type}: backlog growing`, text, href: link, action: 'View type' });
    }
  }
  for (const [what, { used, max }] of Object.entries(stats.limits ?? {})) {
    if (used < max * NEARLY_FULL) continue;
    items.push({
      tone: used >= max ? 'bad' : 'warn',
      what: used >= max ? `No more ${what} can be created` : `Nearly all ${what} are used`,
      text: () => `${used} of ${max}; an admin can raise the tenant's limit`,
      href: href('settings'),
      action: 'Settings',
    });
  }
  return items;
};

const fromGroups = (groups, now) =>
  groups
    .filter((group) => group.letters > 0 && age(now, group.lastSeenAt) < HOUR)
    .map((group) => ({
      tone: 'bad',
      what: `${group.type} is failing: ${firstLine(group.error ?? group.failure ?? 'no error message', 90)}`,
      text: () => `${plural(group.letters, 'dead letter')}, last ${agoText(group.lastSeenAt)}`,
      href: href('dead-letters', { view: 'letters', type: group.type, group: group.group }),
      action: 'View dead letters',
    }));

const fromSchedule = (schedule) => {
  const link = href('schedules', schedule.name);
  const name = `Schedule ${schedule.name}`;
  if (schedule.paused) {
    const why = schedule.pausedReason ? `: ${firstLine(schedule.pausedReason, 90)}` : '';
    const isOwn = schedule.pausedBy === 'carillon';
    const what = isOwn ? `${name} was paused automatically` : `${name} is paused`;
    return {
      tone: isOwn ? 'bad' : 'info',
      what,
      text: () => `by ${firstLine(schedule.pausedBy ?? 'unknown', 60)}${why}`,
      href: link,
      action: 'Resume',
    };
  }
  const ends = (schedule.fires ?? []).filter((fire) => !['PENDING', 'RUNNING'].includes(fire.status));
  const last = ends[0];
  if (last?.status === 'DEAD' || last?.status === 'EXPIRED') {
    const text = () => `last run ${outcomeOf(last)[2]} ${agoText(last.at)}`;
    return { tone: 'bad', what: `${name} is failing`, text, href: link, action: 'View runs' };
  }
  const missed = ends.filter((fire) => fire.reason === 'window' && Date.now() - Date.parse(fire.at) < 24 * HOUR * 1000);
  if (missed.length > 0) {
    const text = () => `${plural(missed.length, 'missed run')} in 24h, last ${agoText(missed[0].at)}`;
    return { tone: 'warn', what: `${name} missed runs`, text, href: link, action: 'Backfill' };
  }
  return null;
};

const fromTenants = (tenants) =>
  tenants
    .filter((tenant) => tenant.paused)
    .map(({ tenant, due }) => ({
      tone: 'info',
      what: `Tenant ${tenant} is paused`,
      text: () => `${plural(due, 'task')} ready`,
      href: href('settings'),
      action: 'Resume',
    }));

const fromCluster = (cluster) => {
  const link = href('cluster');
  const items = cluster.nodes
    .filter((node) => node.status === 'SILENT')
    .map((node) => ({
      tone: 'bad',
      what: `Node ${firstLine(node.name, 60)} is not responding`,
      text: () => `last heartbeat ${agoText(node.renewedAt ?? node.leaseUntil)}`,
      href: link,
      action: 'View cluster',
    }));
  const { bind, tls, beyondLoopback } = cluster.listener ?? {};
  // A page loaded by https proves that a proxy terminates TLS.
  if (beyondLoopback && !tls && location.protocol !== 'https:') {
    items.push({
      tone: 'warn',
      what: 'Plain HTTP is open to other machines',
      text: () => `bound to ${firstLine(bind, 60)}: keys and payloads travel in the clear`,
      href: link,
      action: 'Put TLS in front of it',
    });
  }
  const waiting = cluster.suspects?.waiting ?? 0;
  const running = cluster.suspects?.running ?? 0;
  if (waiting + running > 0) {
    items.push({
      tone: 'warn',
      what: `A node crashed: ${plural(waiting + running, 'suspect')}`,
      text: () =>
        `${count(waiting)} waiting, ${count(running)} running in small groups, to find the task that crashes nodes`,
      href: link,
      action: 'View cluster',
    });
  }
  if (!cluster.leader) {
    items.push({
      tone: 'bad',
      what: 'No leader',
      text: () => 'schedules and recovery are on hold',
      href: link,
      action: 'View cluster',
    });
  }
  return items;
};

const fromBrokers = (all) =>
  all
    .filter((broker) => !broker.reachable)
    .map((broker) => ({
      tone: 'bad',
      what: `Broker ${broker.name} is unreachable`,
      text: () => 'its tasks wait; no attempts are charged',
      href: href('cluster'),
      action: 'View cluster',
    }));

const fromStorage = (storage) => {
  const oldest = seconds(storage.oldestSnapshot);
  if (oldest === null || oldest < OLD_SNAPSHOT) return [];
  return [
    {
      tone: 'warn',
      what: `Transaction open for ${duration(storage.oldestSnapshot)}`,
      text: () => 'blocks vacuum',
      href: href('cluster'),
      action: 'View database',
    },
  ];
};

/** A response, or null where the key has no access or an older server has no such call. */
const getIfAllowed = async (path, query, signal) => {
  try {
    return (await api.get(path, { query, signal })).data;
  } catch (e) {
    if (isFinal(e)) return null;
    throw e;
  }
};

/** The groups of dead letters. A key limited to several types must name one per call. */
const groups = async (signal) => {
  const own = api.caller?.types ?? [];
  const types = own.length > 1 ? own.slice(0, MAX_TYPES) : [''];
  const pages = await Promise.all(
    types.map((type) => getIfAllowed('/v1/dead-letters/groups', { type, limit: 20 }, signal)),
  );
  return pages.flatMap((page) => page?.items ?? []);
};

const metrics = async (signal) => {
  try {
    return await (await api.open('/metrics', { signal })).text();
  } catch (e) {
    if (isFinal(e)) return '';
    throw e;
  }
};

const schedules = async (signal) => {
  const all = [];
  let cursor = null;
  do {
    const page = await getIfAllowed('/v1/schedules', { limit: 100, fires: 5, cursor }, signal);
    if (!page) break;
    all.push(...page.items);
    cursor = page.nextCursor;
  } while (cursor && all.length < MAX_SCHEDULES);
  return { items: all.map(fromSchedule).filter(Boolean), checked: all.length, isAll: !cursor };
};

/** The first few items, and a link to the rest. */
const few = (items, more, place) => {
  const rest = items.length - MAX_PER_KIND;
  if (rest <= 0) return items;
  const last = { tone: 'info', what: more(rest), text: () => '', href: href(place), action: 'Show all' };
  return [...items.slice(0, MAX_PER_KIND), last];
};

/** The recent error groups: one cheap call, for when the stream reports new dead letters. @returns {Promise<Item[]>} */
export const findDeadLetters = async (signal) => {
  if (!api.may('TASKS_READ')) return [];
  const items = fromGroups(await groups(signal), new Date().toISOString());
  return few(items, (n) => `${plural(n, 'more error group')} in the last hour`, 'dead-letters');
};

/**
 * Everything that is not in the stream. `at` is the time by the browser's clock.
 *
 * @typedef {{at: string, items: any[]}} TenantStats
 * @returns {Promise<{at: string, deadLetters: Item[], others: Item[], note: string, tenants: TenantStats}>}
 */
export const findProblems = async (signal) => {
  const isAdmin = api.may('CLUSTER');
  const at = new Date().toISOString();
  const [deadLetters, planned, cluster, storage, tenants, measured] = await Promise.all([
    findDeadLetters(signal),
    api.may('SCHEDULES_READ') ? schedules(signal) : null,
    isAdmin ? getIfAllowed('/v1/cluster', {}, signal) : null,
    isAdmin ? getIfAllowed('/v1/cluster/storage', {}, signal) : null,
    isAdmin ? getIfAllowed('/v1/stats/tenants', {}, signal) : null,
    isAdmin ? metrics(signal) : '',
  ]);
  const others = [
    ...(cluster ? fromCluster(cluster) : []),
    ...fromBrokers(brokers(measured)),
    ...few(planned?.items ?? [], (n) => plural(n, 'more schedule'), 'schedules'),
    ...(storage ? fromStorage(storage) : []),
    ...few(fromTenants(tenants?.items ?? []), (n) => plural(n, 'more paused tenant'), 'settings'),
  ];
  const notes = [
    (api.caller?.types ?? []).length <= MAX_TYPES
      ? ''
      : `Shows dead letters of the first ${plural(MAX_TYPES, 'type')} of this key.`,
    planned && !planned.isAll ? `Checks the first ${plural(planned.checked, 'schedule')} by name.` : '',
  ];
  return { at, deadLetters, others, note: notes.join(' ').trim(), tenants: tenants ?? { at, items: [] } };
};

const RANK = { bad: 0, warn: 1, info: 2 };

export const ranked = (items) => [...items].sort((a, b) => RANK[a.tone] - RANK[b.tone]);
