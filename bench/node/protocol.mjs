// What the Node peers share: they take commands from the benchmark as JSON lines on stdin and answer each with one
// line on stdout, and they may spread their workers over several processes, because one Node process uses one core.
//
// A peer is an object with
//   name                  its npm package
//   settings              one line: what was tuned
//   processes             how many processes run workers
//   batch, lanes          jobs in a call of its bulk API, and how many such calls at a time
//   open()                makes the schema; in the first process only
//   load(n), future(n)    preloads jobs that are due now, or in 1 hour to 30 days
//   add(job)              adds one job, a { data, due }
//   addAll(jobs)          adds many in one call
//   work(purpose)         starts a worker in this process, for "drain" or "onTime"; answers how to stop it
//   left()                how many jobs are due and not finished
//   close()               in every process, when it ends
// and its handler calls ran(data), nothing else.

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const HOUR = 3_600_000;

export const payload = JSON.parse(process.env.BENCH_PAYLOAD);

let finished = 0;
let runs = []; // of scheduled jobs: due, start, due, start, ...

/** The handler of all peers. It does nothing, so its start is its end. */
export function ran(data) {
  finished++;
  if (data.due !== undefined) runs.push(data.due, Date.now());
}

console.log = console.error; // libraries log there, but stdout is for answers

export async function serve(peer) {
  const hand = handOf(peer);
  if (process.send) return takeOrders(hand);

  let hands;
  try {
    await peer.open();
    hands = [hand, ...Array.from({ length: peer.processes - 1 }, forkedHand)];
    answer({ ready: true, version: versionOf(peer.name), settings: `Node ${process.versions.node}, ${peer.settings}` });
  } catch (e) {
    answer({ error: e.message });
    process.exit(1);
  }
  const commands = commandsOf(peer, hands);
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      const command = JSON.parse(line);
      if (command.do === 'quit') break;
      answer(await commands[command.do](command));
    } catch (e) {
      answer({ error: e.message });
    }
  }
  await Promise.allSettled(hands.map((each) => each.quit()));
  process.exit(0);
}

function answer(object) {
  process.stdout.write(JSON.stringify(object) + '\n');
}

function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
}

/** What each worker process can do, the first and the forked ones alike. */
function handOf(peer) {
  let stop;
  return {
    async work(purpose) {
      if (!stop) stop = await peer.work(purpose);
    },
    async rest() {
      await stop?.();
      stop = undefined;
    },
    finished: async () => finished,
    runs: async () => runs,
    async forget() {
      runs = [];
    },
    async quit() {
      await this.rest();
      await peer.close();
    },
  };
}

/** A hand in a process of its own, one order at a time. */
function forkedHand() {
  const child = fork(process.argv[1], { stdio: ['ignore', 2, 2, 'ipc'] });
  const order = (verb) => (argument) =>
    new Promise((resolve, reject) => {
      const lost = () => reject(new Error('a worker process has ended'));
      child.once('exit', lost);
      child.once('message', ({ result, error }) => {
        child.off('exit', lost);
        if (error) reject(new Error(error));
        else resolve(result);
      });
      child.send({ verb, argument });
    });
  return Object.fromEntries(['work', 'rest', 'finished', 'runs', 'forget', 'quit'].map((verb) => [verb, order(verb)]));
}

function takeOrders(hand) {
  process.on('disconnect', () => process.exit(0));
  process.on('message', async ({ verb, argument }) => {
    try {
      process.send({ result: await hand[verb](argument) });
    } catch (e) {
      process.send({ error: e.message });
    }
  });
}

function commandsOf(peer, hands) {
  const all = (verb, argument) => Promise.all(hands.map((hand) => hand[verb](argument)));
  const done = async (work) => {
    await work;
    return { ok: true };
  };
  return {
    load: ({ tasks }) => done(peer.load(tasks)),
    future: ({ tasks }) => done(peer.future(tasks)),
    work: ({ for: purpose }) => done(all('work', purpose)),
    rest: () => done(all('rest')),
    finished: async () => ({ finished: (await all('finished')).reduce((a, b) => a + b) }),
    left: async () => ({ left: await peer.left() }),
    enqueue: ({ callers, seconds }) => enqueue(peer, callers, seconds),
    async bulk({ tasks }) {
      const job = { data: payload, due: Date.now() + HOUR };
      return { seconds: await addInBatches(peer, tasks, () => job) };
    },
    async schedule({ tasks, from, windowMillis }) {
      await all('forget');
      const random = seeded(42);
      await addInBatches(peer, tasks, () => {
        const due = from + Math.floor(random() * windowMillis);
        return { data: { ...payload, due }, due };
      });
      return { ok: true };
    },
    late: async () => lateness((await all('runs')).flat()),
  };
}

async function enqueue(peer, callers, seconds) {
  const due = Date.now() + HOUR;
  const start = performance.now();
  const end = start + seconds * 1000;
  const millis = [];
  const caller = async () => {
    for (let before = start; before < end; ) {
      await peer.add({ data: payload, due });
      const after = performance.now();
      millis.push(after - before);
      before = after;
    }
  };
  await Promise.all(Array.from({ length: callers }, caller));
  return { tasks: millis.length, seconds: (performance.now() - start) / 1000, millis: percentiles(millis) };
}

/** Answers the seconds it took. */
export async function addInBatches(peer, count, next) {
  const start = performance.now();
  let left = count;
  const lane = async () => {
    while (left > 0) {
      const size = Math.min(peer.batch, left);
      left -= size;
      await peer.addAll(Array.from({ length: size }, next));
    }
  };
  await Promise.all(Array.from({ length: peer.lanes }, lane));
  return (performance.now() - start) / 1000;
}

function lateness(flat) {
  if (flat.length === 0) throw new Error('no scheduled job has run');
  const late = [];
  let [earliest, first, last] = [Infinity, Infinity, -Infinity];
  for (let i = 0; i < flat.length; i += 2) {
    const [due, start] = [flat[i], flat[i + 1]];
    late.push(start - due);
    earliest = Math.min(earliest, due);
    first = Math.min(first, start);
    last = Math.max(last, start);
  }
  return { millis: percentiles(late), first: first - earliest, last: last - earliest };
}

/** The median, the 99th percentile and the largest. */
function percentiles(values) {
  const sorted = Float64Array.from(values).sort();
  return [0.5, 0.99, 1].map((p) => sorted[Math.ceil(p * sorted.length) - 1]);
}

/** The same numbers from 0 to 1 in every run (a linear congruential generator). */
function seeded(state) {
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}
