// graphile-worker, tuned for throughput. Differences from its defaults:
// - Two processes, each with 50 concurrent jobs: a single Node process does not use both cores.
// - localQueue of 2000, and batched completions and failures: one statement for many jobs instead of two per job.
// - Polls every 10 ms, not 2 s: a job added in advance is announced when it is added, not when it is due.
// - 32 connections for adding jobs, not 10, so that half of the 64 concurrent callers have one.
// - Logging of every job is off; warnings and errors go to stderr.
// Completed jobs are deleted, which is the default.

import { Logger, makeWorkerUtils, run } from 'graphile-worker';
import pg from 'pg';
import { payload, ran, serve } from './protocol.mjs';

const TASK = 'bench';
const CONNECTIONS = 32;
const connectionString = process.env.BENCH_DATABASE_URL;
const logger = new Logger(() => (level, message) => {
  if (level === 'error' || level === 'warning') console.error(message);
});
const worker = {
  connectionString,
  logger,
  concurrentJobs: 50,
  maxPoolSize: 52, // the maximum it may need at once; it opens connections on demand
  pollInterval: 10,
  localQueue: { size: 2000 },
  completeJobBatchDelay: 0,
  failJobBatchDelay: 0,
};

const pool = new pg.Pool({ connectionString });
let utils;

/** Inserts the same rows as add_jobs, but faster. */
async function insert(count, runAt) {
  await pool.query(`insert into graphile_worker._private_tasks (identifier) values ('${TASK}') on conflict do nothing`);
  await pool.query(
    `insert into graphile_worker._private_jobs (task_id, payload, run_at, max_attempts, priority)
     select task.id, $2, ${runAt}, 25, 0
     from graphile_worker._private_tasks task, generate_series(1, $3::int) i
     where task.identifier = $1`,
    [TASK, JSON.stringify(payload), count],
  );
}

await serve({
  name: 'graphile-worker',
  settings: `2 processes x 50 jobs, local queue 2000, completions batched, poll 10 ms; adds on ${CONNECTIONS} connections`,
  processes: 2,
  batch: 2000,
  lanes: 3,

  async open() {
    utils = await makeWorkerUtils({ preset: { worker: { connectionString, logger, maxPoolSize: CONNECTIONS } } });
    await utils.migrate();
  },

  load: (count) => insert(count, "now() - ($3 - i) * interval '1 microsecond'"),
  future: (count) => insert(count, "now() + interval '1 hour' + random() * interval '719 hours'"),

  add: ({ data, due }) => utils.addJob(TASK, data, { runAt: new Date(due) }),
  addAll: (jobs) =>
    utils.addJobs(jobs.map(({ data, due }) => ({ identifier: TASK, payload: data, runAt: new Date(due) }))),

  async work() {
    const runner = await run({
      preset: { worker },
      taskList: { [TASK]: async (data) => ran(data) },
      noHandleSignals: true,
    });
    return () => runner.stop();
  },

  async remaining() {
    const { rows } = await pool.query(
      'select count(*)::int as remaining from graphile_worker._private_jobs where run_at <= now()',
    );
    return rows[0].remaining;
  },

  async close() {
    await utils?.release();
    await pool.end();
  },
});
