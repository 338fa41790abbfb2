// BullMQ, tuned for throughput. Differences from its defaults:
// - Two processes, each with 300 concurrent jobs.
// - Completed jobs are removed, which is less work than keeping them.
// Durability depends on Redis, whose settings are part of the settings line.

import { Queue, Worker } from 'bullmq';
import Redis from 'ioredis';
import { addInBatches, payload, ran, serve } from './protocol.mjs';

const QUEUE = 'bench';
const connection = { url: process.env.BENCH_REDIS_URL, maxRetriesPerRequest: null };
const redis = new Redis(process.env.BENCH_REDIS_URL);
const queue = new Queue(QUEUE, { connection });

const HOUR = 3_600_000;
const delayUntil = (due) => ({ delay: Math.max(0, due - Date.now()) });

const peer = {
  name: 'bullmq',
  settings: '2 processes x 300 jobs, finished jobs removed; Redis with',
  processes: 2,
  batch: 1000,
  lanes: 2,

  async open() {
    for (const name of ['appendonly', 'appendfsync', 'hz']) {
      this.settings += ` ${(await redis.config('GET', name)).join(' ')}`;
    }
  },

  load: (count) => addInBatches(peer, count, () => ({ data: payload, due: 0 })),
  future: (count) =>
    addInBatches(peer, count, () => ({ data: payload, due: Date.now() + HOUR + Math.random() * 719 * HOUR })),

  add: ({ data, due }) => queue.add('bench', data, delayUntil(due)),
  addAll: (jobs) => queue.addBulk(jobs.map(({ data, due }) => ({ name: 'bench', data, opts: delayUntil(due) }))),

  async work() {
    const worker = new Worker(QUEUE, async (job) => ran(job.data), {
      connection,
      concurrency: 300,
      removeOnComplete: { count: 0 },
    });
    worker.on('error', (e) => console.error(e.message));
    await worker.waitUntilReady();
    return () => worker.close();
  },

  /** Waiting and active jobs, and delayed ones that are due: their score is the due time times 4096. */
  async remaining() {
    const overdue = await redis.zcount(queue.toKey('delayed'), 0, Date.now() * 4096);
    return overdue + (await queue.getJobCountByTypes('wait', 'active'));
  },

  async close() {
    await queue.close();
    redis.disconnect();
  },
};

await serve(peer);
