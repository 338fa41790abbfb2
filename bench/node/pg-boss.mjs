// pg-boss, tuned for throughput. Differences from its defaults:
// - Three workers, each fetching batches of 2000 jobs, without a pause as long as batches are full.
// - Polls every 0.5 s, its minimum, not 2 s. For onTime ten workers start 50 ms apart, so that one of them polls every
//   50 ms.
// - 32 connections, not 10, so that half of the 64 concurrent callers have one.
// Completed jobs are kept for a week, which is the default.
//
// package.json overrides rrule-temporal, which is only used for repeating schedules: the version that pg-boss 12.38.0
// requires is not in every registry.

import { setTimeout as sleep } from 'node:timers/promises';
import pg from 'pg';
import { PgBoss } from 'pg-boss';
import { payload, ran, serve } from './protocol.mjs';

const QUEUE = 'bench';
const CONNECTIONS = 32;
const connectionString = process.env.BENCH_DATABASE_URL;
const boss = new PgBoss({ connectionString, max: CONNECTIONS });
boss.on('error', (e) => console.error(e.message));
const pool = new pg.Pool({ connectionString });

/** Inserts the same rows as insert(), but faster. Unnamed columns have the same defaults there. */
async function insert(count, startAfter) {
  await pool.query(
    `insert into pgboss.job (name, data, policy, created_on, start_after, keep_until)
     select name, $2, policy, now() - ($3 - i) * interval '1 microsecond', due, due + retention_seconds * interval '1 s'
     from (select *, ${startAfter} as due from pgboss.queue, generate_series(1, $3::int) i where name = $1) job`,
    [QUEUE, JSON.stringify(payload), count],
  );
}

await serve({
  name: 'pg-boss',
  settings: `3 workers x batches of 2000, burst while full; on time 10 workers 50 ms apart, poll 0.5 s; ${CONNECTIONS} connections`,
  processes: 1,
  batch: 2000,
  lanes: 2,

  async open() {
    await boss.start();
    await boss.createQueue(QUEUE);
  },

  load: (count) => insert(count, "now() - ($3 - i) * interval '1 microsecond'"),
  future: (count) => insert(count, "now() + interval '1 hour' + random() * interval '719 hours'"),

  add: ({ data, due }) => boss.send(QUEUE, data, { startAfter: new Date(due) }),
  addAll: (jobs) => boss.insert(QUEUE, jobs.map(({ data, due }) => ({ data, startAfter: new Date(due) }))),

  async work(purpose) {
    const workers = purpose === 'onTime' ? 10 : 3;
    const options = { batchSize: 2000, burstWhenBatchFull: true, pollingIntervalSeconds: 0.5 };
    for (let i = 0; i < workers; i++) {
      if (purpose === 'onTime') await sleep(500 / workers);
      await boss.work(QUEUE, options, async (jobs) => jobs.forEach((job) => ran(job.data)));
    }
    return () => boss.offWork(QUEUE);
  },

  async remaining() {
    const { rows } = await pool.query(
      `select count(*)::int as remaining
       from pgboss.job
       where name = $1 and state < 'completed' and start_after <= now()`,
      [QUEUE],
    );
    return rows[0].remaining;
  },

  async close() {
    await boss.stop();
    await pool.end();
  },
});
