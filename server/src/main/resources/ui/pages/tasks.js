// #/tasks: search, filters, live rows and bulk actions.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { compact, count, plural, timeText } from '../format.js';
import { live } from '../live.js';
import { Page } from '../page.js';
import { PagedList, loading, problem } from '../parts.js';
import { go, href, setQuery } from '../router.js';
import { bulk, bulkButtons, each, redriveMatching } from '../tasks/bulk.js';
import { Filter, STATUSES, parseSearch } from '../tasks/filter.js';
import { LiveRows } from '../tasks/live-rows.js';
import { noTasks, taskTable } from '../tasks/task-table.js';
import '../tasks/filter-form.js';

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
    selected: { state: true },
    all: { state: true },
    doing: { state: true },
    failed: { state: true },
    isFilterOpen: { state: true },
  };

  #filter = new Filter(new URLSearchParams());
  #pages = new PagedList(this, (cursor, signal) => this.#loadPage(cursor, signal));
  #live = new LiveRows(this, this.#pages, {
    mayMatch: (event) => this.#filter.mayMatch(event),
    isBusy: () => this.doing !== '' || this.all || this.selected.size > 0,
  });

  constructor() {
    super();
    /** @type {Set<string>} ids of rows that were selected */
    this.selected = new Set();
    this.all = false;
    this.doing = '';
    this.failed = null;
    this.isFilterOpen = false;
  }

  get heading() {
    const { status } = this.#filter;
    return STATUSES.includes(status) ? `${NAMES[status]} tasks` : 'Tasks';
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen('stats', () => this.requestUpdate());
  }

  async load() {
    this.#filter = new Filter(this.query);
    const own = api.caller?.types ?? [];
    if (own.length > 1 && !this.#filter.values.type) {
      setQuery(this.#filter.query({ type: own[0] }), { quietly: true }); // such a key must name one
      return;
    }
    this.#clearSelection();
    this.failed = null;
    this.#live.news = 0;
    await this.#pages.first();
  }

  async #loadPage(cursor, signal) {
    const { path: at, query } = this.#filter.request;
    const { data } = await api.get(at, { query: { ...query, limit: SHOWN, cursor: cursor ?? '' }, signal });
    return data;
  }

  #clearSelection() {
    this.selected = new Set();
    this.all = false;
  }

  #search(event) {
    event.preventDefault();
    const text = /** @type {string} */ (new FormData(event.target).get('search'));
    if (!text.trim()) return;
    const { id, query } = parseSearch(text);
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
            aria-expanded=${this.isFilterOpen}
            aria-controls="filters"
            @click=${() => (this.isFilterOpen = !this.isFilterOpen)}
          >
            Filters
          </button>
        </form>
      </search>
      <c-filters
        id="filters"
        ?hidden=${!this.isFilterOpen}
        .filter=${this.#filter}
        @filter=${(e) => setQuery(e.detail)}
      ></c-filters>
      ${this.#chips()} ${this.#tabs()} ${problem(this.failed)} ${problem(pages.error ?? this.error)} ${this.#bar()}
      ${!pages.ready && !pages.error ? loading() : nothing}
      ${
        pages.ready && pages.items.length === 0 && !pages.hasNext && !pages.busy
          ? noTasks(this.#filter.body !== null)
          : nothing
      }
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

  /** The counts are of the whole tenant, so they are shown only without a filter. */
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

  /** Actions on the selected tasks, and the refresh button. */
  #bar() {
    const rows = this.#pages.items;
    const selected = rows.filter((task) => this.selected.has(task.id));
    const chosen = this.all || selected.length > 0;
    const statuses = this.all
      ? new Set(this.#filter.status ? [this.#filter.status] : ['PENDING', 'RUNNING'])
      : new Set(selected.map((task) => task.status));
    return html`<div class="row bulk">
      ${
        chosen
          ? html`<strong>${this.all ? 'All matching' : `${count(selected.length)} selected`}</strong>
              ${bulkButtons({ statuses, act: (kind) => this.#act(kind), busy: this.doing })}
              ${
                !this.all && this.#canSelectAll
                  ? html`<button type="button" class="quiet small" @click=${() => (this.all = true)}>
                      Select all matching
                    </button>`
                  : nothing
              }
              <button type="button" class="quiet small" @click=${() => this.#clearSelection()}>Clear selection</button>`
          : html`<small>${rows.length > 0 ? 'Select tasks to cancel, run or redrive them.' : ''}</small> ${
                this.#canSelectAll && rows.length > 0
                  ? html`<button type="button" class="quiet small" @click=${() => (this.all = true)}>
                      Select all matching
                    </button>`
                  : nothing
              }
              ${rows.length > 0 ? this.#whyNotAll() : nothing}`
      }
      <span class="end" role="status"
        >${
          this.#live.news > 0
            ? html`<button type="button" class="quiet small" @click=${() => this.#refresh()}>
                ↻ ${plural(this.#live.news, 'update')} · Refresh
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

  /** Without a filter it would be every task; finished tasks cannot be changed. */
  get #canSelectAll() {
    const { body, status, isOfDeadLetters } = this.#filter;
    return body !== null && (['', 'PENDING', 'RUNNING'].includes(status) || isOfDeadLetters);
  }

  /** Explains why dead tasks of a schedule or due time cannot be redriven together. */
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
    this.#live.news = 0;
    this.#clearSelection();
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
      .filter((task) => this.selected.has(task.id) && fits.includes(task.status))
      .map((task) => task.id);
    return kind === 'redrive' ? redriveMatching({ ids }) : each(kind, ids);
  }

  #select(id, on) {
    const selected = new Set(this.selected);
    if (on) selected.add(id);
    else selected.delete(id);
    this.selected = selected;
    this.all = false;
  }

  #table() {
    const { items } = this.#pages;
    return taskTable(items, {
      status: this.#filter.status,
      isEvery: items.every((task) => this.selected.has(task.id)),
      isSelected: (task) => this.all || this.selected.has(task.id),
      select: (id, on) => this.#select(id, on),
      selectAll: (on) => {
        this.all = false;
        this.selected = new Set(on ? items.map((task) => task.id) : []);
      },
    });
  }
}
customElements.define('page-tasks', TasksPage);
