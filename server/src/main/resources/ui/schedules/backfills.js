// <c-backfills>: the backfills of a schedule, and the dialog that starts one.

import { LitElement, html, nothing } from 'lit';
import { api, isTransient, path } from '../api.js';
import { badge, count, datedTime, localTime, plural, time, visible } from '../format.js';
import { live } from '../live.js';
import { ask, confirm, problem, toast } from '../parts.js';

const REFRESH_INTERVAL = 2_000;
const DAY = 86_400_000;

const STATUS = { RUNNING: ['running', '▶', 'Running'], DONE: ['ok', '✓', 'Done'], STOPPED: ['off', '■', 'Stopped'] };

const iso = (form, name) => {
  const value = form.get(name);
  return value ? new Date(value).toISOString() : undefined;
};

const bodyOf = (form) => ({
  from: iso(form, 'from'),
  to: iso(form, 'to'),
  overlap: form.get('overlap'),
  again: form.get('again') === 'on',
});

/**
 * Asks for a range, shows the count, asks for confirmation and starts.
 *
 * @param {string} name of the schedule
 * @param {{from?: string, to?: string}} range what the form starts with
 * @returns {Promise<object|null>} the backfill, or null if it was cancelled
 */
export const startBackfill = async (name, { from, to } = {}) => {
  const at = path`/v1/schedules/${name}/backfill`;
  const last = to ?? new Date(Date.now() - 1000).toISOString();
  const first = from ?? new Date(Date.now() - DAY).toISOString();
  const counted = await ask({
    title: `Backfill ${name}`,
    action: 'Preview',
    body: html`
      <p>
        Creates tasks for past run times, for example while the schedule was paused. Times that already have a task are
        skipped.
      </p>
      <div class="fields">
        <label>From <input type="datetime-local" name="from" step="1" required .value=${localTime(first)} /></label>
        <label>To <input type="datetime-local" name="to" step="1" required .value=${localTime(last)} /></label>
        <label
          >Concurrency
          <select name="overlap">
            <option value="queue">Sequential</option>
            <option value="allow">Concurrent</option>
          </select>
        </label>
      </div>
      <label><input type="checkbox" name="again" /> Include times older than the run history (may run twice)</label>
      <p class="muted">
        <small>Your time zone, both ends included. You confirm the number of tasks first.</small>
      </p>
    `,
    submit: async (form) => {
      const body = bodyOf(form);
      // The input does not show the fractions of a second of a fire.
      if (from && localTime(from) === localTime(body.from)) body.from = from;
      if (to && localTime(to) === localTime(body.to)) body.to = to;
      const { data } = await api.post(at, { ...body, dryRun: true });
      return { body, ...data };
    },
  });
  if (!counted) return null;
  const { body, times, existing } = counted;
  const toCreate = times - existing;
  if (toCreate === 0) {
    toast(times === 0 ? 'No run times in this range' : `All ${count(times)} run times already have a task`);
    return null;
  }
  return ask({
    title: `Create ${plural(toCreate, 'task')}?`,
    body: `${plural(times, 'run time')} in range, ${count(existing)} already have a task.`,
    action: `Create ${plural(toCreate, 'task')}`,
    submit: async () => (await api.post(at, body)).data,
  });
};

class Backfills extends LitElement {
  static properties = { name: { type: String }, items: { state: true }, error: { state: true } };

  #timer = null;
  #end = null;

  constructor() {
    super();
    this.name = '';
    this.items = null;
    this.error = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#end = live.onReturn(() => isTransient(this.error) && this.load());
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
    this.#end();
  }

  willUpdate(changed) {
    if (changed.has('name') && this.name) this.load();
  }

  async load() {
    clearTimeout(this.#timer);
    try {
      const { data } = await api.get(path`/v1/schedules/${this.name}/backfills`, { query: { limit: 10 } });
      const hadRunning = this.items?.some((each) => each.status === 'RUNNING');
      this.items = data.items;
      this.error = null;
      const isRunning = this.items.some((each) => each.status === 'RUNNING');
      if (hadRunning && !isRunning) this.dispatchEvent(new CustomEvent('done'));
      if (isRunning && this.isConnected) this.#timer = setTimeout(() => this.load(), REFRESH_INTERVAL);
    } catch (e) {
      this.error = e;
    }
  }

  async #stop(backfill) {
    const question = {
      title: 'Stop this backfill?',
      body: 'Tasks already created are kept.',
      action: 'Stop',
      danger: true,
    };
    if (!(await confirm(question))) return;
    try {
      await api.post(path`/v1/schedules/${this.name}/backfills/${backfill.id}/stop`);
    } catch (e) {
      toast(e.detail || e.message, { bad: true });
    }
    this.load();
  }

  #row(backfill) {
    const { created, existing, skipped, times } = backfill;
    const handled = created + existing + skipped;
    return html`<li class="backfill">
      <div class="row spread">
        <span>${badge(...STATUS[backfill.status])} ${datedTime(backfill.from)} to ${datedTime(backfill.to)}</span>
        ${
          backfill.status === 'RUNNING' && api.may('SCHEDULES_CONFIGURE')
            ? html`<button type="button" class="small outline danger" @click=${() => this.#stop(backfill)}>
                Stop
              </button>`
            : nothing
        }
      </div>
      <progress max=${Math.max(1, times)} .value=${Math.min(handled, times)} aria-label="Progress"></progress>
      <small class="muted">
        ${count(handled)} of ${plural(times, 'run time')}: ${count(created)} created, ${count(existing)} already
        existed, ${count(skipped)} skipped (DST). Started ${time(backfill.createdAt)} by ${visible(backfill.createdBy)}.
      </small>
    </li>`;
  }

  render() {
    if (this.error) return problem(this.error);
    if (!this.items?.length) return nothing;
    return html`<section aria-labelledby="backfills">
      <h2 id="backfills">Backfills</h2>
      <ul class="plain">
        ${this.items.map((each) => this.#row(each))}
      </ul>
    </section>`;
  }
}
customElements.define('c-backfills', Backfills);
