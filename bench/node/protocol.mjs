// Shared by the Node peers: reads commands from the benchmark as JSON lines on stdin and answers each with one line on
// stdout. Workers can run in several processes, because one Node process uses one core.
//
// A peer is an object with
//   name                  its npm package
//   settings              the tuned settings, in one line
//   processes             how many processes run workers
//   batch, lanes          jobs per call of its bulk API, and the number of concurrent calls
//   open()                creates the schema; called in the first process only
//   load(n), future(n)    preloads jobs that are due now, or in 1 hour to 30 days
//   add(job)              adds one job, a { data, due }
//   addAll(jobs)          adds many in one call
//   work(purpose)         starts a worker in this process, for "drain" or "onTime"; returns a function that stops it
//   remaining()           returns how many jobs are due and unfinished
//   close()               called in every process at the end
// and a handler that only calls ran(data).

import { fork } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createInterface } from 'node:readline';

const HOUR = 3_600_000;

export const payload = JSON.parse(process.env.BENCH_PAYLOAD);

let finished = 0;
let runs = []; // scheduled jobs as due, start, due, start, ...

/** The handler of all peers. It does nothing, so its start time is also its end time. */
export function ran(data) {
  finished++;
  if (data.due !== undefined) runs.push(data.due, Date.now());
}

console.log = console.error; // keeps the logs of libraries out of stdout, which is for answers

export async function serve(peer) {
  const local = localWorker(peer);
  if (process.send) return serveParent(local);

  let workers;
  try {
    await peer.open();
    workers = [local, ...Array.from({ length: peer.processes - 1 }, forkedWorker)];
    answer({ ready: true, version: versionOf(peer.name), settings: `Node ${process.versions.node}, ${peer.settings}` });
  } catch (e) {
    answer({ error: e.message });
    process.exit(1);
  }
  const commands = commandsOf(peer, workers);
  for await (const line of createInterface({ input: process.stdin })) {
    try {
      const command = JSON.parse(line);
      if (command.do === 'quit') break;
      answer(await commands[command.do](command));
    } catch (e) {
      answer({ error: e.message });
    }
  }
  await Promise.allSettled(workers.map((worker) => worker.quit()));
  process.exit(0);
}

function answer(object) {
  process.stdout.write(JSON.stringify(object) + '\n');
}

function versionOf(name) {
  return JSON.parse(readFileSync(new URL(`node_modules/${name}/package.json`, import.meta.url))).version;
}

/** The methods of a worker process, the same in the first and the forked ones. */
function localWorker(peer) {
  let stopWorker;
  return {
    async work(purpose) {
      if (!stopWorker) stopWorker = await peer.work(purpose);
    },
    async stop() {
      await stopWorker?.();
      stopWorker = undefined;
    },
    finished: async () => finished,
    runs: async () => runs,
    async resetRuns() {
      runs = [];
    },
    async quit() {
      await this.stop();
      await peer.close();
    },
  };
}

/** A worker in a forked process; handles one call at a time. */
function forkedWorker() {
  const child = fork(process.argv[1], { stdio: ['ignore', 2, 2, 'ipc'] });
  const call = (method) => (argument) =>
    new Promise((resolve, reject) => {
      const onExit = () => reject(new Error('a worker process has exited'));
      child.once('exit', onExit);
      child.once('message', ({ result, error }) => {
        child.off('exit', onExit);
        if (error) reject(new Error(error));
        else resolve(result);
      });
      child.send({ method, argument });
    });
  return Object.fromEntries(['work', 'stop', 'finished', 'runs', 'resetRuns', 'quit'].map((name) => [name, call(name)]));
}

function serveParent(worker) {
  process.on('disconnect', () => process.exit(0));
  process.on('message', async ({ method, argument }) => {
    try {
      process.send({ result: await worker[method](argument) });
    } catch (e) {
      process.send({ error: e.message });
    }
  });
}

function commandsOf(peer, workers) {
  const all = (method, argument) => Promise.all(workers.map((worker) => worker[method](argument)));
  const done = async (work) => {
    await work;
    return { ok: true };
  };
  return {
    load: ({ tasks }) => done(peer.load(tasks)),
    future: ({ tasks }) => done(peer.future(tasks)),
    work: ({ for: purpose }) => done(all('work', purpose)),
    stop: () => done(all('stop')),
    finished: async () => ({ finished: (await all('finished')).reduce((a, b) => a + b) }),
    remaining: async () => ({ remaining: await peer.remaining() }),
    enqueue: ({ callers, seconds }) => enqueue(peer, callers, seconds),
    async bulk({ tasks }) {
      const job = { data: payload, due: Date.now() + HOUR };
      return { seconds: await addInBatches(peer, tasks, () => job) };
    },
    async schedule({ tasks, from, windowMillis }) {
      await all('resetRuns');
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

/** Returns the seconds it took. */
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

/** The p50, the p99 and the maximum. */
function percentiles(values) {
  const sorted = Float64Array.from(values).sort();
  return [0.5, 0.99, 1].map((p) => sorted[Math.ceil(p * sorted.length) - 1]);
}

/** A generator of random numbers from 0 to 1, the same in every run (linear congruential). */
function seeded(state) {
  return () => (state = (Math.imul(state, 1664525) + 1013904223) >>> 0) / 2 ** 32;
}
