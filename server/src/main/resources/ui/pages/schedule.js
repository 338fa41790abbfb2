// #/schedules/{name}: when it fires, what became of it, and all that can be done about it.

import { html, nothing } from 'lit';
import { api, curl, path } from '../api.js';
import { ago, count, localTime, plural, setDuration, time, visible } from '../format.js';
import { Pages, asked, choices, deleted, loading, problem, toast } from '../parts.js';
import { Page } from '../page.js';
import { go, href, setQuery } from '../router.js';
import { startBackfill } from '../schedules/backfills.js';
import { getExact, parseExact } from '../exact-json.js';
import { fireDetail, legend, localText, outcomeBadge, reasonOf } from '../schedules/fires.js';
import { retryText, targetText } from '../types/target.js';
import { statusBadge } from './schedules.js';
import '../schedules/schedule-form.js';

const IN_STRIP = 100;
const PER_PAGE = 25;
const LOOK_AGAIN = 10_000;
const MORE_RUNS = 20;

const OUTCOMES = [
  ['', 'All runs'],
  ['task', 'Created a task'],
  ['skipped', 'Skipped'],
];

const WORDS = {
  overlap: {
    skip: 'skip the new run',
    allow: 'allow concurrent runs',
    queue: 'queue one run',
    cancelPrevious: 'cancel the previous run',
  },
  catchUp: { none: 'run none', last: 'run the latest only', all: 'run all' },
};

class SchedulePage extends Page {
  static properties = {
    schedule: { state: true },
    fires: { state: true },
    chosen: { state: true },
    moreRuns: { state: true },
  };

  constructor() {
    super();
    this.schedule = null;
    this.etag = null;
    this.fires = [];
    this.chosen = null;
    this.moreRuns = null;
    this.pages = new Pages(this, async (cursor, signal) => {
      const query = { limit: PER_PAGE, ...this.#filter, cursor };
      return (await api.get(`${this.#at}/fires`, { query, signal })).data;
    });
  }

  get #name() {
    return this.params[0];
  }

  get #at() {
    return path`/v1/schedules/${this.#name}`;
  }

  get #filter() {
    return Object.fromEntries(['outcome', 'from', 'to'].map((name) => [name, this.query.get(name)]));
  }

  get heading() {
    return this.#name;
  }

  connectedCallback() {
    super.connectedCallback();
    this.every(LOOK_AGAIN, () => this.query.has('edit') || this.#lookAgain());
    this.listen('task', (event) => this.#hear(event));
  }

  async load(signal) {
    await this.#look(signal);
    await this.pages.first();
  }

  async #look(signal) {
    const [shown, fires] = await Promise.all([
      getExact(this.#at),
      api.get(`${this.#at}/fires`, { query: { limit: IN_STRIP }, signal }),
    ]);
    if (signal?.aborted || !this.isConnected) return;
    if (this.schedule?.version !== shown.data.version) this.moreRuns = null; // by a rule that may be gone
    const isNews = this.fires[0]?.at !== fires.data.items[0]?.at;
    this.schedule = shown.data;
    this.etag = shown.etag;
    this.fires = fires.data.items;
    if (isNews && this.pages.number === 1 && this.pages.ready) this.pages.reload();
  }

  async #lookAgain() {
    try {
      await this.#look();
      this.error = null;
    } catch (e) {
      this.error = e;
    }
  }

  #hear({ id, to }) {
    const heard = (fire) => (fire.taskId === id ? { ...fire, status: to } : fire);
    if (!this.fires.some((fire) => fire.taskId === id)) return;
    this.fires = this.fires.map(heard);
    this.pages.items = this.pages.items.map(heard);
    if (this.chosen) this.chosen = heard(this.chosen);
  }

  /** After something was done: all of it again, and a word about it. */
  async #done(text) {
    toast(text);
    await this.reload();
  }

  async #pause() {
    const done = await asked({
      title: `Pause ${this.#name}?`,
      body: html`<p>Runs are recorded as skipped while paused. Tasks already created continue.</p>
        <label>Reason <input name="reason" maxlength="500" autocomplete="off" placeholder="visible to everyone" /></label>`,
      action: 'Pause',
      submit: (form) => {
        const reason = /** @type {string} */ (form.get('reason')).trim();
        return api.post(`${this.#at}/pause`, reason ? { reason } : undefined);
      },
    });
    if (done) await this.#done(`Paused ${this.#name}`);
  }

  async #resume() {
    const body = 'Runs resume from now. Runs missed while paused are not created; use a backfill for those.';
    const submit = () => api.post(`${this.#at}/resume`);
    if (await asked({ title: `Resume ${this.#name}?`, body, action: 'Resume', submit })) {
      await this.#done(`Resumed ${this.#name}`);
    }
  }

  async #trigger() {
    const done = await asked({
      title: `Trigger ${this.#name} now?`,
      body: html`<p>Creates one task now, ignoring the schedule, the overlap policy and any pause.</p>
        <label
          >Payload (JSON)
          <textarea name="payload" rows="3" class="code" spellcheck="false" placeholder="from the schedule"></textarea>
        </label>`,
      action: 'Trigger',
      submit: async (form) => {
        const text = /** @type {string} */ (form.get('payload')).trim();
        return (await api.post(`${this.#at}/trigger`, text ? { payload: parseExact(text) } : undefined)).data;
      },
    });
    if (!done) return;
    await this.#done('Task created');
    this.chosen = this.fires.find((fire) => fire.taskId === done.id) ?? null;
  }

  async #backfill(fire) {
    const started = await startBackfill(this.#name, fire ? { from: fire.at, to: fire.at } : {});
    if (!started) return;
    toast('Backfill started');
    /** @type {any} */ (this.querySelector('c-backfills'))?.load();
  }

  async #delete() {
    const body = 'Planned tasks are cancelled; due and running tasks continue. The run history is deleted.';
    const submit = () => api.del(this.#at, { ifMatch: this.etag });
    if (await deleted({ name: this.#name, body, submit })) go('schedules');
  }

  async #showMore() {
    const { cron, timezone, dst, startAt, endAt, name, version } = this.schedule;
    const rule = { cron, timezone, dst, name, count: MORE_RUNS };
    if (startAt) rule.startAt = startAt;
    if (endAt) rule.endAt = endAt;
    try {
      const { data } = await api.post('/v1/schedules/preview', rule);
      if (this.schedule.version === version) this.moreRuns = data.nextRuns;
    } catch (e) {
      this.error = e;
    }
  }

  #head() {
    const s = this.schedule;
    const may = api.may('SCHEDULES_CONFIGURE');
    const button = (text, action, className = 'outline') =>
      html`<button type="button" class="small ${className}" @click=${action}>${text}</button>`;
    return html`
      <p class="crumbs"><a href=${href('schedules')}>Schedules</a></p>
      <div class="row spread">
        <h1>${this.#name} ${s ? statusBadge(s) : nothing}</h1>
        ${
          s && may
            ? html`<div class="row">
                ${button('Trigger now', () => this.#trigger(), '')}
                ${s.paused ? button('Resume', () => this.#resume()) : button('Pause', () => this.#pause())}
                ${button('Backfill', () => this.#backfill())}
                ${this.query.has('edit') ? nothing : button('Edit', () => setQuery({ edit: 1 }))}
                ${button('Delete', () => this.#delete(), 'outline danger')}
              </div>`
            : nothing
        }
      </div>
      ${s ? this.#summary(s) : nothing}
    `;
  }

  #summary(s) {
    return html`<p class="lead">
        ${s.description ?? html`<span class="wrong">This expression is not supported by this version.</span>`}
        <span class="muted"
          ><code>${s.cron ?? setDuration(s.every)}</code>${s.cron ? ` ${s.timezone}` : ''}, creates tasks of type
          <a href=${href('types', s.type)}>${s.type}</a></span
        >
      </p>
      ${
        s.paused
          ? html`<div class="alert warn" role="note">
              <strong>Paused</strong> ${s.pausedAt ? ago(s.pausedAt) : nothing} by
              ${visible(s.pausedBy ?? 'unknown')}${s.pausedReason ? html`: ${visible(s.pausedReason)}` : nothing}
            </div>`
          : nothing
      }`;
  }

  #calendar(s) {
    return html`<section class="card" aria-labelledby="calendar">
      <div class="row spread">
        <h2 id="calendar">Runs</h2>
        <small class="muted">days in ${s.timezone}${s.paused ? '; upcoming runs as if resumed' : ''}</small>
      </div>
      <c-fire-strip
        .fires=${this.fires}
        .next=${s.nextRuns}
        .chosen=${this.chosen}
        @chosen=${(e) => (this.chosen = e.detail)}
      ></c-fire-strip>
      ${legend(this.fires, s.nextRuns.length > 0)}
      <div aria-live="polite">
        ${
          this.chosen
            ? fireDetail(this.chosen, {
                backfill: api.may('SCHEDULES_CONFIGURE') ? (fire) => this.#backfill(fire) : null,
              })
            : html`<p class="muted"><small>Select a run for details.</small></p>`
        }
      </div>
    </section>`;
  }

  /** What is left of those that were asked for; the schedule itself knows which have passed. */
  #runs(s) {
    const next = Date.parse(s.nextRuns[0]?.at ?? '');
    const left = (this.moreRuns ?? []).filter((run) => Date.parse(run.at) >= next);
    return left.length > s.nextRuns.length ? left : s.nextRuns;
  }

  #next(s) {
    const runs = this.#runs(s);
    return html`<section class="card" aria-labelledby="next">
      <h2 id="next">Next runs</h2>
      ${runs.length === 0 ? html`<p class="muted">No upcoming runs: the schedule has finished.</p>` : nothing}
      <ol class="plain">
        ${runs.map(
          (run) =>
            html`<li>
              <span class="row spread">
                ${run.skipped ? html`<s>${localText(run.local)}</s>` : html`<span>${localText(run.local)}</span>`}
                <span class="muted">${ago(run.at)}</span>
              </span>
              ${run.note ? html`<span class="note">${run.note}</span>` : nothing}
            </li>`,
        )}
      </ol>
      ${
        s.cron && runs === s.nextRuns && runs.length > 0
          ? html`<button type="button" class="small quiet" @click=${() => this.#showMore()}>Show ${MORE_RUNS}</button>`
          : nothing
      }
    </section>`;
  }

  #counters({ counters }) {
    const skipped = Object.entries(counters.skipped).filter(([, n]) => n > 0);
    const number = (name, n) =>
      html`<dt>${name}</dt>
        <dd>${count(n)}</dd>`;
    return html`<section class="card" aria-labelledby="counters">
      <h2 id="counters">Totals</h2>
      <dl class="facts">
        ${number('Runs', counters.runs)} ${number('Completed', counters.completed)} ${number('Failed', counters.failed)}
        ${number('Cancelled', counters.cancelled)} ${skipped.map(([reason, n]) => number(`Skipped: ${reason}`, n))}
      </dl>
      <p><a href=${href('tasks', { schedule: this.#name })}>View tasks</a></p>
    </section>`;
  }

  #definition(s) {
    const fact = (name, value) =>
      html`<dt>${name}</dt>
        <dd>${value}</dd>`;
    return html`<details class="card">
      <summary><h2>Settings</h2></summary>
      <dl class="facts">
        ${fact('Target', targetText(s.target))} ${fact('Retries', retryText(s.retry))}
        ${fact('Overlap policy', WORDS.overlap[s.overlap] ?? s.overlap)}
        ${fact('Catch-up policy', `${WORDS.catchUp[s.catchUp] ?? s.catchUp}${s.catchUp === 'none' ? '' : `, last ${setDuration(s.catchUpWindow)}`}`)}
        ${fact('DST', `gap ${s.dst.gap}, overlap ${s.dst.overlap}`)} ${fact('Jitter', setDuration(s.jitter))}
        ${fact('Start at', time(s.startAt))} ${fact('End at', time(s.endAt))} ${fact('Max runs', count(s.maxRuns))}
        ${fact('Pause after', s.pauseAfterFailures ? plural(s.pauseAfterFailures, 'failure') : 'never')}
        ${fact('Key', visible(s.key ?? '–'))} ${fact('Priority', s.priority ?? 'from the type')}
        ${fact('Created', time(s.createdAt))} ${fact('Updated', time(s.updatedAt))} ${fact('Version', count(s.version))}
      </dl>
      ${s.payload === undefined ? nothing : html`<c-json .value=${s.payload} label="Payload"></c-json>`}
      <c-json .value=${curl('GET', this.#at)} label="As curl"></c-json>
    </details>`;
  }

  #table() {
    const { pages } = this;
    const filter = this.#filter;
    const set = (name, value) => setQuery({ ...filter, [name]: value });
    const moment = (name, text) =>
      html`<label
        >${text}
        <input
          type="datetime-local"
          class="small"
          .value=${localTime(filter[name])}
          @change=${(e) => set(name, e.target.value ? new Date(e.target.value).toISOString() : '')}
      /></label>`;
    return html`<section aria-labelledby="fires">
      <h2 id="fires">Run history</h2>
      <div class="row filters">
        <label
          >Show
          <select class="small" @change=${(e) => set('outcome', e.target.value)}>
            ${choices(OUTCOMES, filter.outcome ?? '')}
          </select>
        </label>
        ${moment('from', 'From')} ${moment('to', 'To')}
      </div>
      ${problem(pages.error)}
      ${
        pages.items.length === 0
          ? html`<p class="muted">${pages.ready ? 'No runs yet.' : 'Loading …'}</p>`
          : html`<div class="table">
              <table>
                <thead>
                  <tr>
                    ${[`Scheduled time (${this.schedule.timezone})`, 'Your time', 'Trigger', 'Outcome', 'Task / reason'].map((text) => html`<th scope="col">${text}</th>`)}
                  </tr>
                </thead>
                <tbody>
                  ${pages.items.map((fire) => this.#row(fire))}
                </tbody>
              </table>
            </div>`
      }
      <c-pager .pages=${pages}></c-pager>
    </section>`;
  }

  #row(fire) {
    return html`<tr>
      <th scope="row">
        <div>${localText(fire.local)}${fire.note ? html`<div class="note">${fire.note}</div>` : nothing}</div>
      </th>
      <td data-label="Your time">${time(fire.at)}</td>
      <td data-label="Trigger">${fire.kind}</td>
      <td data-label="Outcome">${outcomeBadge(fire)}</td>
      <td data-label="Task / reason">
        ${fire.taskId ? html`<a class="id" href=${href('tasks', fire.taskId)}>${fire.taskId}</a>` : html`<span class="muted">${reasonOf(fire)?.[0] ?? fire.reason}</span>`}
      </td>
    </tr>`;
  }

  #body(s) {
    if (this.query.has('edit') && api.may('SCHEDULES_CONFIGURE')) {
      const leave = () => setQuery({});
      return html`<c-schedule-form .schedule=${s} .etag=${this.etag} @saved=${leave} @left=${leave}></c-schedule-form>`;
    }
    return html`
      ${this.#calendar(s)}
      <div class="pair">${this.#next(s)} ${this.#counters(s)}</div>
      <c-backfills name=${this.#name} @done=${() => this.reload()}></c-backfills>
      ${this.#table()} ${this.#definition(s)}
    `;
  }

  render() {
    return html`${this.#head()} ${problem(this.error)}
    ${this.schedule ? this.#body(this.schedule) : this.error ? nothing : loading()}`;
  }
}
customElements.define('page-schedule', SchedulePage);
