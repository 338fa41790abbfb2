// <c-history>: the attempts and transitions of a task, newest first.

import { LitElement, html, nothing } from 'lit';
import { api, path } from '../api.js';
import { badge, duration, status, time, visible } from '../format.js';
import { problem } from '../parts.js';
import { advice, errorText, kind, message } from './descriptions.js';

const OUTCOMES = {
  RUNNING: ['running', '▶', 'Running'],
  COMPLETED: ['ok', '✓', 'Completed'],
  RETRIED: ['warn', '↻', 'Failed'],
  RELEASED: ['off', '↩', 'Released'],
  DEAD: ['dead', '✕', 'Failed (final)'],
  CANCELLED: ['off', '⊘', 'Cancelled'],
};

const TRANSITIONS = {
  ' PENDING': 'Created',
  'PENDING RUNNING': 'Claimed',
  'PENDING CANCELLED': 'Cancelled',
  'PENDING EXPIRED': 'Expired',
  'PENDING DEAD': 'Redrive undone',
  'RUNNING PENDING': 'Queued again',
  'RUNNING COMPLETED': 'Completed',
  'RUNNING DEAD': 'Moved to dead letters',
  'RUNNING CANCELLED': 'Cancelled',
  'DEAD PENDING': 'Redriven',
};

const MANUAL_ACTIONS = { 'task.edit': 'Edited', 'task.run': 'Run now' };

const at = (entry) => Date.parse(entry.at) || 0;

const transitionText = (change) => TRANSITIONS[`${change.from ?? ''} ${change.to}`] ?? `${change.from} → ${change.to}`;

const keyOf = (change) => `${change.fence} ${change.at} ${change.to}`;

/** Attempts and transitions of a task in one order, as far as they are loaded. */
export class History {
  attempts = new Map();
  transitions = new Map();
  /** Audit log entries: edits and manual runs, which change no state. */
  manualChanges = [];
  attemptsCursor = null;
  transitionsCursor = null;

  /** Merges GET /v1/tasks/{id}: the newest of both. Older entries stay if there is no gap between them. */
  merge(task) {
    const newest = Math.max(-1, ...this.attempts.keys());
    const oldest = Math.min(Infinity, ...task.attempts.map((each) => each.fence));
    const first = this.transitions.size === 0;
    if (first || oldest > newest + 1) {
      this.attempts.clear();
      this.transitions.clear();
      this.attemptsCursor = task.attemptsCursor;
      this.transitionsCursor = task.transitionsCursor;
    }
    this.#add(task.attempts, task.transitions);
  }

  /** Sets the response of GET /v1/audit for this task. */
  setAudit(records) {
    this.manualChanges = records.filter((each) => Object.hasOwn(MANUAL_ACTIONS, each.action));
  }

  #add(attempts, transitions) {
    for (const each of attempts) this.attempts.set(each.fence, each);
    for (const each of transitions) this.transitions.set(keyOf(each), each);
  }

  get hasOlder() {
    return this.attemptsCursor !== null || this.transitionsCursor !== null;
  }

  /** Below this fence only one of the two lists is loaded, so it is not shown yet. */
  get #horizon() {
    const a = this.attemptsCursor === null ? -1 : Math.min(...this.attempts.keys());
    const fences = [...this.transitions.values()].map((each) => each.fence);
    const t = this.transitionsCursor === null ? -1 : Math.min(...fences);
    return { attempts: a, transitions: t, both: Math.max(a, t) };
  }

  /** Loads the next page of the list that ends first. */
  async older(id) {
    const { attempts, transitions } = this.#horizon;
    const query = (cursor) => ({ query: { cursor } });
    if (this.attemptsCursor !== null && attempts >= transitions) {
      const { data } = await api.get(path`/v1/tasks/${id}/attempts`, query(this.attemptsCursor));
      this.attemptsCursor = data.nextCursor;
      this.#add(data.items, []);
    }
    if (this.transitionsCursor !== null && transitions >= attempts) {
      const { data } = await api.get(path`/v1/tasks/${id}/transitions`, query(this.transitionsCursor));
      this.transitionsCursor = data.nextCursor;
      this.#add([], data.items);
    }
  }

  /** The manual changes among the loaded rows; older ones are not shown yet. */
  #withManualChanges(rows) {
    const all = [...rows];
    for (const manual of this.manualChanges) {
      const fences = rows.filter((row) => at(row) <= at(manual)).map((row) => row.fence);
      if (fences.length > 0) all.push({ fence: Math.max(...fences), at: manual.at, manual });
    }
    return all;
  }

  /** Newest first: `{attempt, claimed, ended}`, `{change}` or `{manual}`. */
  entries() {
    const { both } = this.#horizon;
    const rows = new Map();
    for (const attempt of this.attempts.values()) {
      if (attempt.fence >= both)
        rows.set(attempt.fence, { fence: attempt.fence, at: attempt.startedAt ?? '', attempt });
    }
    const all = [...rows.values()];
    for (const change of this.transitions.values()) {
      if (change.fence < both) continue;
      const row = rows.get(change.fence);
      if (row && change.to === 'RUNNING') row.claimed = change;
      else if (row && change.from === 'RUNNING') row.ended = change;
      else all.push({ fence: change.fence, at: change.at, change });
    }
    return this.#withManualChanges(all).sort((a, b) => b.fence - a.fence || at(b) - at(a) || (a.at < b.at ? 1 : -1));
  }
}

const requestLine = (request) =>
  request?.url ? html`<code class="wrap">${visible(request.method)} ${visible(request.url)}</code>` : nothing;

const by = (change) => (change?.by ? html` by <code class="wrap">${visible(change.by)}</code>` : nothing);

class HistoryList extends LitElement {
  static properties = {
    task: { attribute: false },
    history: { attribute: false, hasChanged: () => true },
    busy: { state: true },
    error: { state: true },
  };

  constructor() {
    super();
    this.task = null;
    this.history = null;
    this.busy = false;
    this.error = null;
  }

  createRenderRoot() {
    return this;
  }

  async #older() {
    this.busy = true;
    this.error = null;
    try {
      await this.history.older(this.task.id);
    } catch (e) {
      this.error = e;
    }
    this.busy = false;
  }

  render() {
    if (!this.history) return nothing;
    const entries = this.history.entries();
    const newest = entries.find((entry) => !entry.manual);
    return html`
      <ol class="history">
        ${entries.map((entry) => {
          if (entry.manual) return this.#manual(entry.manual);
          return entry.attempt ? this.#attempt(entry, entry === newest) : this.#change(entry.change);
        })}
      </ol>
      ${problem(this.error)}
      ${
        this.history.hasOlder
          ? html`<button
              type="button"
              class="outline small"
              aria-busy=${this.busy}
              ?disabled=${this.busy}
              @click=${this.#older}
            >
              Load older
            </button>`
          : nothing
      }
    `;
  }

  #manual(record) {
    const fields = (record.detail?.fields ?? []).map(visible).join(', ');
    return html`<li>
      <div class="row">
        ${badge('off', '✎', 'Manual')} <strong>${MANUAL_ACTIONS[record.action]}${fields ? `: ${fields}` : ''}</strong
        ><span>${by(record)}</span>
        <span class="end">${time(record.at)}</span>
      </div>
    </li>`;
  }

  #change(change) {
    return html`<li>
      <div class="row">
        ${status(change.to)} <strong>${transitionText(change)}</strong><span>${by(change)}</span>
        ${
          change.reason && change.reason !== 'created'
            ? html`<small>${visible(change.reason).toLowerCase()}</small>`
            : nothing
        }
        <span class="end">${time(change.at)}</span>
      </div>
    </li>`;
  }

  #attempt({ attempt, claimed, ended }, isNewest) {
    const [tone, shape, text] = OUTCOMES[attempt.outcome] ?? ['off', '·', attempt.outcome];
    const failed = attempt.error && attempt.outcome !== 'COMPLETED';
    const meaning = advice(attempt.error, this.task?.status);
    return html`<li>
      <div class="row">
        ${badge(tone, shape, text)} <strong>Attempt ${attempt.attempt}</strong>
        ${failed ? html`<small>${kind(attempt.error.kind, attempt.error.status)}</small>` : nothing}
        ${!failed && attempt.status ? html`<small>HTTP ${attempt.status}</small>` : nothing}
        ${attempt.duration ? html`<small title="Duration">${duration(attempt.duration)}</small>` : nothing}
        <span class="end">${time(attempt.startedAt)}</span>
      </div>
      ${failed ? errorText(message(attempt.error), 300) : nothing}
      <details ?open=${isNewest && failed && this.task?.status !== 'DEAD'}>
        <summary>Details</summary>
        ${failed && meaning ? html`<p>${meaning}</p>` : nothing}
        <dl class="facts">
          <dt>Claimed</dt>
          <dd>${time(claimed?.at ?? attempt.startedAt)}${by(claimed ?? attempt)}</dd>
          ${
            attempt.endedAt
              ? html`<dt>Finished</dt>
                  <dd>
                    ${time(ended?.at ?? attempt.endedAt)}${
                      ended ? html` → ${transitionText(ended).toLowerCase()}` : nothing
                    }${by(ended)}
                  </dd>`
              : nothing
          }
          <dt>Fence</dt>
          <dd>${attempt.fence}</dd>
          ${
            attempt.request?.url
              ? html`<dt>Request</dt>
                  <dd>${requestLine(attempt.request)}</dd>`
              : nothing
          }
        </dl>
        ${
          failed && message(attempt.error).length > 300
            ? html`<c-json .value=${message(attempt.error)} label="Full error"></c-json>`
            : nothing
        }
        ${attempt.request ? html`<c-json .value=${attempt.request} label="Request"></c-json>` : nothing}
        ${attempt.output ? html`<c-json json .value=${attempt.output} label="Response"></c-json>` : nothing}
      </details>
    </li>`;
  }
}
customElements.define('c-history', HistoryList);
