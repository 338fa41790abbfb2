// #/schedules/{name}: the runs of a schedule, its settings and its actions.

import { html, nothing } from 'lit';
import { api, path } from '../api.js';
import { getExact } from '../exact-json.js';
import { ago, setDuration, visible } from '../format.js';
import { PagedList, loading, problem, toast } from '../parts.js';
import { Page } from '../page.js';
import { go, href, setQuery } from '../router.js';
import { pause, remove, resume, trigger } from '../schedules/actions.js';
import { startBackfill } from '../schedules/backfills.js';
import { settings, statusBadge, totals } from '../schedules/details.js';
import { fireDetail, legend, localText } from '../schedules/fires.js';
import { runHistory } from '../schedules/run-history.js';
import '../schedules/schedule-form.js';

const STRIP_LENGTH = 100;
const PER_PAGE = 25;
const REFRESH_INTERVAL = 10_000;
const MORE_RUNS = 20;

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
    this.pages = new PagedList(this, async (cursor, signal) => {
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
    this.every(REFRESH_INTERVAL, () => this.query.has('edit') || this.#refresh());
    this.listen('task', (event) => this.#onTask(event));
  }

  async load(signal) {
    await this.#loadSchedule(signal);
    await this.pages.first();
  }

  async #loadSchedule(signal) {
    const [shown, fires] = await Promise.all([
      getExact(this.#at),
      api.get(`${this.#at}/fires`, { query: { limit: STRIP_LENGTH }, signal }),
    ]);
    if (signal?.aborted || !this.isConnected) return;
    if (this.schedule?.version !== shown.data.version) this.moreRuns = null; // of another version of the schedule
    const isNew = this.fires[0]?.at !== fires.data.items[0]?.at;
    this.schedule = shown.data;
    this.etag = shown.etag;
    this.fires = fires.data.items;
    if (isNew && this.pages.number === 1 && this.pages.ready) this.pages.reload();
  }

  async #refresh() {
    try {
      await this.#loadSchedule();
      this.error = null;
    } catch (e) {
      this.error = e;
    }
  }

  #onTask({ id, to }) {
    const updated = (fire) => (fire.taskId === id ? { ...fire, status: to } : fire);
    if (!this.fires.some((fire) => fire.taskId === id)) return;
    this.fires = this.fires.map(updated);
    this.pages.items = this.pages.items.map(updated);
    if (this.chosen) this.chosen = updated(this.chosen);
  }

  async #done(text) {
    toast(text);
    await this.reload();
  }

  async #pause() {
    if (await pause(this.#name)) await this.#done(`Paused ${this.#name}`);
  }

  async #resume() {
    if (await resume(this.#name)) await this.#done(`Resumed ${this.#name}`);
  }

  async #trigger() {
    const task = await trigger(this.#name);
    if (!task) return;
    await this.#done('Task created');
    this.chosen = this.fires.find((fire) => fire.taskId === task.id) ?? null;
  }

  async #delete() {
    if (await remove(this.#name, this.etag)) go('schedules');
  }

  async #backfill(fire) {
    const started = await startBackfill(this.#name, fire ? { from: fire.at, to: fire.at } : {});
    if (!started) return;
    toast('Backfill started');
    /** @type {any} */ (this.querySelector('c-backfills'))?.load();
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
        <small class="muted">Days in ${s.timezone}${s.paused ? '; upcoming runs as if resumed' : ''}</small>
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

  /** The further runs that have not passed yet, if they were loaded. */
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

  #body(s) {
    if (this.query.has('edit') && api.may('SCHEDULES_CONFIGURE')) {
      const leave = () => setQuery({});
      return html`<c-schedule-form .value=${s} .etag=${this.etag} @saved=${leave} @left=${leave}></c-schedule-form>`;
    }
    return html`
      ${this.#calendar(s)}
      <div class="pair">${this.#next(s)} ${totals(s)}</div>
      <c-backfills name=${this.#name} @done=${() => this.reload()}></c-backfills>
      ${runHistory(this.pages, this.#filter, s.timezone)} ${settings(s)}
    `;
  }

  render() {
    return html`${this.#head()} ${problem(this.error)}
    ${this.schedule ? this.#body(this.schedule) : this.error ? nothing : loading()}`;
  }
}
customElements.define('page-schedule', SchedulePage);
