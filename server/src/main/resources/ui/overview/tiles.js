// The figures at the top of the overview.

import { html } from 'lit';
import { ago, compact, duration, plural, span } from '../format.js';
import { tile } from '../parts.js';
import { href } from '../router.js';

/** How long the oldest task has waited, or null. */
export const wait = (now, oldest) => (oldest ? span((Date.parse(now) - Date.parse(oldest)) / 1000) : null);

/** 1234.5 -> '1.23K', 3.14159 -> '3.1', 0 -> '0'. */
const rate = (n) => (n === null || n === undefined ? '–' : compact(n < 10 ? Math.round(n * 10) / 10 : Math.round(n)));

const atLeast = (n, isMore) => `${compact(n)}${isMore ? '+' : ''}`;

/**
 * @param {{p50?: string, p95?: string, p99?: string} | null | undefined} delay
 * @param {string} range such as '1h'
 */
export const startDelayTile = (delay, range) => {
  const { p50, p95, p99 } = delay ?? {};
  if (!p50) return tile('Start delay p50', '–', 'no tasks started in the last hour');
  const percentile = (name, value) => html`<span class="nowrap">${name} ${duration(value)}</span>`;
  const note = html`${percentile('p95', p95)} · ${percentile('p99', p99)} (${range})`;
  return tile('Start delay p50', duration(p50), note);
};

/** The figures at the top, from GET /v1/stats. */
export const tiles = (stats) => {
  const { last, status, due } = stats;
  const oldest = wait(stats.seenAt.due, due.oldest);
  /** @type {[any, string]} */
  const delay = last.minute.lateness?.p50 ? [last.minute.lateness, '1m'] : [last.hour.lateness, '1h'];
  return html`<dl class="tiles">
    ${tile(
      'Throughput (1m)',
      html`${rate(last.minute.perSecond)}<small> /s</small>`,
      `${plural(last.minute.completed, 'task')} completed`,
    )}
    ${tile('Completed (1h)', compact(last.hour.completed), `${compact(last.day.completed)} in 24h`)}
    ${tile(
      'Dead (1h)',
      compact(last.hour.dead),
      html`${compact(last.hour.retried)} retries,
        <a href=${href('dead-letters')}>${plural(status.DEAD, 'dead letter')}</a>`,
    )}
    ${startDelayTile(...delay)}
    ${tile('Ready', atLeast(due.tasks, due.atLeast), oldest ? `oldest waiting ${oldest}` : 'queue empty')}
    ${tile(
      'In flight',
      atLeast(status.RUNNING, stats.runningIsAtLeast),
      'running now',
      href('tasks', { status: 'RUNNING' }),
    )}
    ${tile(
      'Pending',
      compact(status.PENDING),
      stats.pendingCountedAt ? html`updated ${ago(stats.pendingCountedAt)}` : 'counting…',
      href('tasks', { status: 'PENDING' }),
    )}
  </dl>`;
};
