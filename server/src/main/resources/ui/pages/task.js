// #/tasks/{id}: the state of a task, its last error, its history and its settings.

import { html, nothing } from 'lit';
import { api, isFinal, path } from '../api.js';
import { getExact } from '../exact-json.js';
import { duration, stateOf, status, visible } from '../format.js';
import { Page } from '../page.js';
import { loading, problem } from '../parts.js';
import { href } from '../router.js';
import { cancel, commands, edit, redrive, runNow } from '../tasks/actions.js';
import { taskContents, taskFacts } from '../tasks/details.js';
import { History } from '../tasks/history.js';
import { advice, errorText, message, statusText } from '../tasks/descriptions.js';

const OVER = new Set(['COMPLETED', 'CANCELLED', 'EXPIRED']);
const SETTLE = 300; // changes that come together cause one refresh
const ACTIVE_INTERVAL = 10_000;
const IDLE_INTERVAL = 30_000; // edits of pending and dead tasks are not in the stream
const AFTER_ACTION = [1_000, 2_000, 4_000, 8_000]; // the user waits for the effect

class TaskPage extends Page {
  static properties = {
    task: { state: true },
    type: { state: true },
    slots: { state: true },
    group: { state: true },
    doing: { state: true },
    failed: { state: true },
  };

  #etag = null;
  #history = new History();
  #timer = null;
  #auditedVersion = '';

  constructor() {
    super();
    this.task = null;
    this.type = null;
    /** Slots of all nodes while the task waits for one; null for keys that may not see them. */
    this.slots = null;
    this.group = null;
    this.doing = '';
    this.failed = null;
  }

  get heading() {
    return this.task ? `${this.task.type} ${visible(this.task.key ?? this.task.id)}` : 'Task';
  }

  get id() {
    return this.params[0] ?? '';
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen('task', (event) => event.id === this.id && this.#refreshSoon());
    this.listen('gap', () => this.#refreshSoon());
    this.listen('stats', () => this.requestUpdate()); // a scheduled task becomes ready without an event
    this.every(ACTIVE_INTERVAL, () => this.#isActive && this.#refreshSoon());
    this.every(IDLE_INTERVAL, () => this.#mayChange && this.#refreshSoon());
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
  }

  get #isActive() {
    if (!this.#mayChange || this.task.status === 'DEAD') return false;
    return this.task.status === 'RUNNING' || Date.parse(this.task.nextAttemptAt) < Date.now() + ACTIVE_INTERVAL;
  }

  get #mayChange() {
    return this.task !== null && !OVER.has(this.task.status);
  }

  #refreshSoon() {
    clearTimeout(this.#timer);
    if (isFinal(this.error)) return;
    this.#timer = setTimeout(() => this.isConnected && this.reload(), SETTLE);
  }

  async load(signal) {
    const { data, etag } = await getExact(path`/v1/tasks/${this.id}`, { signal });
    if (signal.aborted) return;
    if (this.task?.id !== data.id) {
      this.#history = new History();
      this.type = null;
    }
    // A task that failed again may be in another group.
    if (data.status !== 'DEAD' || this.task?.id !== data.id || this.task.finishedAt !== data.finishedAt)
      this.group = null;
    this.#history.merge(data);
    this.#etag = etag;
    this.task = data;
    this.#loadExtras(data, signal);
  }

  async #readSlots(task, signal) {
    if (!api.may('CLUSTER') || !['READY', 'OVERDUE'].includes(stateOf(task))) {
      this.slots = null;
      return;
    }
    const { data } = await api.get('/v1/cluster', { signal }).catch(() => ({ data: null }));
    if (!data || signal.aborted) return;
    const members = data.nodes.filter((node) => node.status === 'ALIVE' || node.status === 'DRAINING');
    const sum = (field) => members.reduce((total, node) => total + node[field], 0);
    this.slots = { used: sum('inFlight'), total: sum('seats') };
  }

  /** Edits and manual runs are in the audit only: they change no state. */
  async #loadAudit({ id, version }, signal) {
    if (!api.may('AUDIT') || this.#auditedVersion === `${id} ${version}`) return;
    const query = { subject: id, limit: 100 };
    const { data } = await api.get('/v1/audit', { query, signal }).catch(() => ({ data: null }));
    if (!data || signal.aborted) return;
    this.#auditedVersion = `${id} ${version}`;
    this.#history.setAudit(data.items);
    this.requestUpdate();
  }

  /** Optional data: the settings of the type, the free slots, the audit, the group of a dead letter. */
  async #loadExtras(task, signal) {
    if (api.may('TYPES_READ')) {
      const { data } = await api.get(path`/v1/types/${task.type}`, { signal }).catch(() => ({ data: null }));
      if (!signal.aborted) this.type = data;
    }
    await this.#readSlots(task, signal);
    await this.#loadAudit(task, signal);
    if (task.status !== 'DEAD' || this.group) return;
    const died = Date.parse(task.finishedAt);
    const query = { type: task.type, diedAfter: task.finishedAt, diedBefore: new Date(died + 2).toISOString() };
    const { data } = await api.get('/v1/dead-letters', { query, signal }).catch(() => ({ data: { items: [] } }));
    const letter = data.items.find((each) => each.id === task.id);
    if (!signal.aborted) this.group = letter?.group ?? null;
  }

  #act(name, action) {
    return this.keepFocus(async () => {
      this.doing = name;
      this.failed = null;
      try {
        if ((await action()) !== false) {
          await this.reload();
          for (const ms of AFTER_ACTION)
            setTimeout(() => this.isConnected && this.#isActive && this.#refreshSoon(), ms);
        }
      } catch (e) {
        this.failed = e;
        this.#refreshSoon(); // a rejected action means that the task has changed
      }
      this.doing = '';
    });
  }

  render() {
    if (!this.task) {
      const gone = this.error?.status === 404 || this.error?.status === 400;
      return html`<h1>Task</h1>
        ${
          gone
            ? html`<div class="empty">
                <h2>Task <code>${visible(this.id)}</code> not found</h2>
                <p>It may belong to another tenant, have been removed by retention, or never have existed.</p>
                <a href=${href('tasks')}>All tasks</a>
              </div>`
            : this.error
              ? problem(this.error)
              : loading()
        }`;
    }
    const { task } = this;
    return html`
      <nav class="trail" aria-label="Breadcrumb">
        <a href=${href('tasks')}>Tasks</a> › <a href=${href('tasks', { type: task.type })}>${task.type}</a>
      </nav>
      <h1>
        ${status(stateOf(task, this.type?.paused))}
        <span>${task.type}</span> ${task.key ? html`<span class="muted">${visible(task.key)}</span>` : nothing}
      </h1>
      <p class="lede">${statusText(task, { type: this.type, slots: this.slots, last: this.#history.entries()[0] })}</p>
      ${problem(this.error)} ${problem(this.failed)} ${task.status === 'DEAD' && task.error ? nothing : this.#actions()}
      ${this.#error()}
      <div class="task-columns">
        <div>
          <section aria-labelledby="history">
            <h2 id="history">History</h2>
            <c-history .task=${task} .history=${this.#history}></c-history>
          </section>
        </div>
        <div>${taskFacts(task, this.type)} ${taskContents(task)} ${this.#commands()}</div>
      </div>
    `;
  }

  #actions() {
    const { task } = this;
    const operate = api.may('TASKS_OPERATE');
    const buttons = [];
    if (task.status === 'DEAD' && operate) {
      buttons.push(this.#button('redrive', 'Redrive', () => redrive(task), ''));
      buttons.push(
        this.#button('edit', 'Edit and redrive', () => edit(task, this.#etag, { redrive: true }), 'outline'),
      );
    }
    if (task.status === 'PENDING' && operate) {
      const isLater = ['SCHEDULED', 'RETRYING'].includes(stateOf(task));
      buttons.push(this.#button('run', 'Run now', () => runNow(task), isLater ? '' : 'outline'));
      buttons.push(this.#button('edit', 'Edit', () => edit(task, this.#etag), 'outline'));
    }
    if (
      (task.status === 'PENDING' || (task.status === 'RUNNING' && !task.cancelRequested)) &&
      api.may('TASKS_CANCEL')
    ) {
      buttons.push(this.#button('cancel', 'Cancel', () => cancel(task), 'outline danger'));
    }
    return buttons.length > 0 ? html`<div class="row actions">${buttons}</div>` : nothing;
  }

  #button(name, label, action, className) {
    return html`<button
      type="button"
      class=${className}
      aria-busy=${this.doing === name}
      ?disabled=${this.doing !== ''}
      @click=${() => this.#act(name, action)}
    >
      ${label}
    </button>`;
  }

  /** The last error: what it was, what it means, what to do. */
  #error() {
    const { task } = this;
    if (!task.error || task.status === 'COMPLETED') return nothing;
    const last = this.#history.entries().find((entry) => entry.attempt?.error)?.attempt;
    const dead = task.status === 'DEAD';
    return html`<section class="why ${dead ? '' : 'warn'}" aria-labelledby="why">
      <h2 id="why">${dead ? 'Error' : 'Last error'}</h2>
      ${errorText(message(task.error))}
      <p>${advice(task.error, task.status)}</p>
      ${
        last?.request?.url
          ? html`<p class="wrap">
              <small>Request</small>
              <code>${visible(last.request.method)} ${visible(last.request.url)}</code>
              ${last.duration ? html`<small title="Duration">${duration(last.duration)}</small>` : nothing}
            </p>`
          : nothing
      }
      ${last?.output ? html`<c-json json .value=${last.output} label="Response"></c-json>` : nothing}
      ${dead ? this.#actions() : nothing}
      ${
        dead && this.group
          ? html`<p>
              <a href=${href('dead-letters', { view: 'letters', type: task.type, group: this.group })}
                >Similar dead letters</a
              >
            </p>`
          : nothing
      }
    </section>`;
  }

  #commands() {
    return html`<details class="card">
      <summary>API commands (curl)</summary>
      ${commands(this.task).map(([label, text]) => html`<c-json .value=${text} label=${label}></c-json>`)}
    </details>`;
  }
}
customElements.define('page-task', TaskPage);
