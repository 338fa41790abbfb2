// The brokers as in the metrics of a node: the API has no call for them.

const LINE = /^carillon_broker_(\w+)\{(.*)\} (\S+)$/;
const LABEL = /(\w+)="((?:\\.|[^"\\])*)"/g;

const labels = (text) =>
  Object.fromEntries(
    [...text.matchAll(LABEL)].map(([, name, value]) => [
      name,
      value.replace(/\\(.)/g, (_, c) => (c === 'n' ? '\n' : c)),
    ]),
  );

/**
 * @typedef {{name: string, reachable: boolean, inFlight: number, published: number}} Broker
 * @returns {(Broker & {depths: {of: string, depth: number}[]})[]}
 */
export const brokers = (metrics) => {
  const all = new Map();
  for (const line of metrics.split('\n')) {
    const match = LINE.exec(line);
    if (!match) continue;
    const { broker: name, of } = labels(match[2]);
    const value = Number(match[3]);
    if (!all.has(name)) all.set(name, { name, reachable: false, inFlight: 0, published: 0, depths: [] });
    const broker = all.get(name);
    if (match[1] === 'reachable') broker.reachable = value === 1;
    if (match[1] === 'in_flight') broker.inFlight = value;
    if (match[1] === 'published_total') broker.published = value;
    if (match[1] === 'depth') broker.depths.push({ of, depth: value });
  }
  return [...all.values()].sort((a, b) => a.name.localeCompare(b.name));
};
