// #/tasks: find tasks, see them change, act on many.

import { html, nothing } from 'lit';
import { api, curlIf, ownType } from '../api.js';
import { ago, compact, count, plural, stateOf, status as statusBadge, timeText, visible } from '../format.js';
import { live } from '../live.js';
import { Page } from '../page.js';
import { Pages, empty, loading, problem } from '../parts.js';
import { go, href, setQuery } from '../router.js';
import { bulk, bulkButtons, each, redriveMatching } from '../tasks/bulk.js';
import { Filter, STATUSES, understood } from '../tasks/filter.js';
import { errorLine } from '../tasks/descriptions.js';
import '../tasks/filter-form.js';

const SETTLE = 500;
const APART = 5_000;
const SHOWN = 50;

const NAMES = {
  '': 'All',
  PENDING: 'Pending',
  RUNNING: 'Running',
  COMPLETED: 'Completed',
  DEAD: 'Dead',
  CANCELLED: 'Cancelled',
  EXPIRED: 'Expired',
};

class TasksPage extends Page {
  static properties = {
    picked: { state: true },
    all: { state: true },
    doing: { state: true },
    failed: { state: true },
    news: { state: true },
    wide: { state: true },
  };

  #filter = new Filter(new URLSearchParams());
  #pages = new Pages(this, (cursor, signal) => this.#page(cursor, signal));
  /** Ids of rows that changed since the last look began. */
  #changed = new Set();
  #timer = null;
  #wanted = false;
  #missed = false;
  #lookedAt = 0;

  constructor() {
    super();
    /** @type {Set<string>} ids of rows that were picked */
    this.picked = new Set();
    this.all = false;
    this.doing = '';
    this.failed = null;
    this.news = 0;
    this.wide = false;
  }

  get heading() {
    const { status } = this.#filter;
    return STATUSES.includes(status) ? `${NAMES[status]} tasks` : 'Tasks';
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen('task', (event) => this.#seen(event));
    this.listen('stats', () => this.requestUpdate());
    this.listen('gap', () => {
      this.#missed = true;
      this.#lookSoon();
    });
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
    this.#timer = null;
  }

  async load() {
    this.#filter = new Filter(this.query);
    const own = api.caller?.types ?? [];
    if (own.length > 1 && !this.#filter.values.type) {
      setQuery(this.#filter.query({ type: own[0] }), { quietly: true }); // such a key must say which
      return;
    }
    this.#unpick();
    this.failed = null;
    this.news = 0;
    await this.#pages.first();
  }

  async #page(cursor, signal) {
    const { path: at, query } = this.#filter.request;
    const { data } = await api.get(at, { query: { ...query, limit: SHOWN, cursor: cursor ?? '' }, signal });
    return data;
  }

  #unpick() {
    this.picked = new Set();
    this.all = false;
  }

  /** Rows that are shown change where they are; others are only counted, so that nothing jumps. */
  #seen(event) {
    const row = this.#pages.items.find((task) => task.id === event.id);
    if (!row) {
      if (this.#filter.mayHave(event)) this.news++;
      return;
    }
    row.status = event.to;
    row.attempt = event.attempt ?? row.attempt;
    this.#changed.add(event.id);
    this.#lookSoon();
    this.requestUpdate();
  }

  /** One look at a time, for all that is wanted meanwhile, and none right after another. */
  #lookSoon() {
    this.#wanted = true;
    if (this.#timer !== null) return;
    this.#timer = setTimeout(
      async () => {
        this.#wanted = false;
        await this.#look().catch(() => {}); // the next one may do better
        this.#lookedAt = Date.now();
        this.#timer = null;
        if (this.#wanted && this.isConnected) this.#lookSoon();
      },
      Math.max(SETTLE, this.#lookedAt + APART - Date.now()),
    );
  }

  /** What the stream does not say of the rows, such as the error, or did not say at all. */
  async #look() {
    const pages = this.#pages;
    if (pages.busy || !pages.ready) {
      this.#wanted ||= pages.busy; // what is on its way may have left before
      return;
    }
    const shown = pages.items;
    const missed = this.#missed;
    this.#missed = false;
    this.#changed.clear();
    const now = new Map((await pages.peek()).map((task) => [task.id, task]));
    if (pages.items !== shown || pages.busy) return; // another page by now
    const gone = shown.some((row) => !now.has(row.id));
    if (missed && gone && this.doing === '' && !this.all && this.picked.size === 0) {
      this.news = 0;
      await pages.reload();
      return;
    }
    for (const row of shown) {
      if (now.has(row.id) && !this.#changed.has(row.id)) Object.assign(row, now.get(row.id));
      now.delete(row.id);
    }
    if (missed) this.news = Math.max(this.news, now.size);
    this.requestUpdate();
  }

  #search(event) {
    event.preventDefault();
    const text = /** @type {string} */ (new FormData(event.target).get('search'));
    if (!text.trim()) return;
    const { id, query } = understood(text);
    event.target.reset();
    if (id) go('tasks', id);
    else setQuery(this.#filter.query(query));
  }

  #without(name) {
    return this.#filter.query({ [name]: '' });
  }

  render() {
    const pages = this.#pages;
    return html`
      <h1>Tasks</h1>
      <search>
        <form class="row find" @submit=${this.#search}>
          <input
            type="search"
            name="search"
            class="grow"
            aria-label="Search tasks"
            autocomplete="off"
            spellcheck="false"
            placeholder="Search by ID, key or metadata (name=value)"
          />
          <button type="submit" class="outline">Search</button>
          <button
            type="button"
            class="outline"
            aria-expanded=${this.wide}
            aria-controls="filters"
            @click=${() => (this.wide = !this.wide)}
          >
            Filters
          </button>
        </form>
      </search>
      <c-filters
        id="filters"
        ?hidden=${!this.wide}
        .filter=${this.#filter}
        @filter=${(e) => setQuery(e.detail)}
      ></c-filters>
      ${this.#chips()} ${this.#tabs()} ${problem(this.failed)} ${problem(pages.error ?? this.error)} ${this.#bar()}
      ${!pages.ready && !pages.error ? loading() : nothing}
      ${pages.ready && pages.items.length === 0 && !pages.hasNext && !pages.busy ? this.#nothing() : nothing}
      ${pages.items.length > 0 ? this.#table() : nothing}
      <c-pager .pages=${pages}></c-pager>
    `;
  }

  #chips() {
    const chips = this.#filter.chips(timeText);
    if (chips.length === 0) return nothing;
    return html`<ul class="row chips" aria-label="Active filters">
      ${chips.map(
        ([name, words]) =>
          html`<li>
            <a class="chip" href=${href('tasks', this.#without(name))} aria-label=${`Remove filter ${words}`}
              >${words} <span aria-hidden="true">✕</span></a
            >
          </li>`,
      )}
      <li><a href=${href('tasks', { status: this.#filter.status })}>Clear</a></li>
    </ul>`;
  }

  /** Counts are of the whole tenant, so they are shown only where nothing else is asked for. */
  #tabs() {
    const counts = live.stats?.status ?? {};
    const plain = this.#filter.chips(timeText).length === 0;
    return html`<nav class="tabs" aria-label="Status">
      ${['', ...STATUSES].map(
        (name) =>
          html`<a
            class="tab"
            href=${href('tasks', this.#filter.query({ status: name }))}
            aria-current=${this.#filter.status === name ? 'page' : nothing}
            >${NAMES[name]}
            ${plain && counts[name] !== undefined ? html`<small>${compact(counts[name])}</small>` : nothing}</a
          >`,
      )}
    </nav>`;
  }

  /** What can be done with what is picked, and what is new. */
  #bar() {
    const rows = this.#pages.items;
    const picked = rows.filter((task) => this.picked.has(task.id));
    const chosen = this.all || picked.length > 0;
    const statuses = this.all
      ? new Set(this.#filter.status ? [this.#filter.status] : ['PENDING', 'RUNNING'])
      : new Set(picked.map((task) => task.status));
    return html`<div class="row bulk">
      ${
        chosen
          ? html`<strong>${this.all ? 'All matching' : `${count(picked.length)} selected`}</strong>
              ${bulkButtons({ statuses, act: (kind) => this.#act(kind), busy: this.doing })}
              ${
                !this.all && this.#canMeanAll
                  ? html`<button type="button" class="quiet small" @click=${() => (this.all = true)}>
                      Select all matching
                    </button>`
                  : nothing
              }
              <button type="button" class="quiet small" @click=${() => this.#unpick()}>Clear selection</button>`
          : html`<small>${rows.length > 0 ? 'Select tasks to cancel, run or redrive them.' : ''}</small> ${
                this.#canMeanAll && rows.length > 0
                  ? html`<button type="button" class="quiet small" @click=${() => (this.all = true)}>
                      Select all matching
                    </button>`
                  : nothing
              }
              ${rows.length > 0 ? this.#whyNotAll() : nothing}`
      }
      <span class="end" role="status"
        >${
          this.news > 0
            ? html`<button type="button" class="quiet small" @click=${() => this.#refresh()}>
                ↻ ${plural(this.news, 'update')} · Refresh
              </button>`
            : html`<button
                type="button"
                class="quiet small"
                aria-busy=${this.#pages.busy}
                @click=${() => this.#refresh()}
              >
                ↻ Refresh
              </button>`
        }</span
      >
    </div>`;
  }

  /** Without any filter it would be everything there is; what has ended cannot be changed. */
  get #canMeanAll() {
    const { body, status, isOfDeadLetters } = this.#filter;
    return body !== null && (['', 'PENDING', 'RUNNING'].includes(status) || isOfDeadLetters);
  }

  /** Where one would look for the others in vain. */
  #whyNotAll() {
    const { status, isOfDeadLetters, values } = this.#filter;
    const { type, key, error } = values;
    if (status !== 'DEAD' || isOfDeadLetters || !api.may('TASKS_OPERATE')) return nothing;
    return html`<small
      >To redrive all dead tasks, filter by type, key or error on the
      <a href=${href('dead-letters', { view: 'letters', type, key, error })}>Dead letters page</a>.</small
    >`;
  }

  #refresh() {
    this.news = 0;
    this.#unpick();
    return this.#pages.hasBack ? this.#pages.reload() : this.#pages.first();
  }

  #act(kind) {
    return this.keepFocus(async () => {
      this.doing = kind;
      this.failed = null;
      try {
        if (await this.#done(kind)) await this.#refresh();
      } catch (e) {
        this.failed = e;
      }
      this.doing = '';
    });
  }

  #done(kind) {
    const filter = this.#filter;
    if (this.all) return kind === 'redrive' ? redriveMatching(filter.letters) : bulk(kind, filter.body);
    const fits = { redrive: ['DEAD'], run: ['PENDING'], cancel: ['PENDING', 'RUNNING'] }[kind];
    const ids = this.#pages.items
      .filter((task) => this.picked.has(task.id) && fits.includes(task.status))
      .map((task) => task.id);
    return kind === 'redrive' ? redriveMatching({ ids }) : each(kind, ids);
  }

  #pick(id, on) {
    const picked = new Set(this.picked);
    if (on) picked.add(id);
    else picked.delete(id);
    this.picked = picked;
    this.all = false;
  }

  #table() {
    const { items } = this.#pages;
    const every = items.every((task) => this.picked.has(task.id));
    return html`<div class="table" tabindex="0" role="region" aria-label="Tasks">
      <table class="tasks">
        <thead>
          <tr>
            <th scope="col">
              <input
                type="checkbox"
                aria-label="Select all on this page"
                .checked=${every}
                @change=${(e) => {
                  this.all = false;
                  this.picked = new Set(e.target.checked ? items.map((task) => task.id) : []);
                }}
              />
            </th>
            <th scope="col">Status</th>
            <th scope="col">Type</th>
            <th scope="col">Key</th>
            <th scope="col">ID</th>
            <th scope="col">${this.#filter.status === 'PENDING' ? 'Next attempt' : 'Due'}</th>
            <th scope="col" class="num">Attempt</th>
            <th scope="col">Last error</th>
          </tr>
        </thead>
        <tbody>
          ${items.map((task) => this.#row(task))}
        </tbody>
      </table>
    </div>`;
  }

  #isPaused(type) {
    return live.stats?.types?.find((each) => each.type === type)?.paused === true;
  }

  #row(task) {
    return html`<tr class="linked">
      <td>
        <input
          type="checkbox"
          aria-label="Select ${task.type} ${visible(task.key ?? task.id)}"
          .checked=${this.all || this.picked.has(task.id)}
          @change=${(e) => this.#pick(task.id, e.target.checked)}
        />
      </td>
      <td class="first">${statusBadge(stateOf(task, this.#isPaused(task.type)))}</td>
      <td data-label="Type"><a href=${href('tasks', task.id)} title=${task.id}>${task.type}</a></td>
      <td data-label="Key">
        ${task.key ? html`<span class="clip">${visible(task.key)}</span>` : html`<span class="muted">–</span>`}
      </td>
      <td class="id" title=${task.id}>${task.id.slice(-12)}</td>
      ${
        task.status === 'PENDING'
          ? html`<td data-label="Next attempt">${ago(task.nextAttemptAt)}</td>`
          : html`<td data-label="Due">${ago(task.dueAt)}</td>`
      }
      <td data-label="Attempt" class="num">${task.attempt} of ${task.maxAttempts}</td>
      <td data-label="Last error" class="clip-cell">${errorLine(task)}</td>
    </tr>`;
  }

  #nothing() {
    const filtered = this.#filter.body !== null;
    if (filtered) {
      return empty({
        title: 'No tasks match',
        text: html`Try removing a filter, or <a href=${href('tasks')}>show all tasks</a>.`,
      });
    }
    const can = api.may('TASKS_CREATE');
    const what = 'A task is work to run once: now or at any time up to two years ahead.';
    return empty({
      title: ownType('') ? "No tasks yet for this key's types" : 'No tasks yet',
      text: can ? `${what} Create one; this example completes immediately.` : what,
      curl: curlIf('TASKS_CREATE', 'POST', '/v1/tasks', {
        type: ownType('hello'),
        key: 'first',
        payload: { to: 'world' },
        target: { discard: {} },
      }),
    });
  }
}
customElements.define('page-tasks', TasksPage);
