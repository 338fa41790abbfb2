// #/dead-letters: groups by error, single dead letters, and redrives.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { count } from '../format.js';
import { Page } from '../page.js';
import { PagedList, empty, loading, problem } from '../parts.js';
import { href, setQuery } from '../router.js';
import { groupHead, groupTable } from '../dead-letters/groups.js';
import { letterTable, noLetters } from '../dead-letters/letters.js';
import { purgeDialog, redriveDialog } from '../dead-letters/redrives.js';

const VIEWS = [
  { id: 'groups', label: 'By error' },
  { id: 'letters', label: 'All dead letters' },
  { id: 'redrives', label: 'Redrives' },
];

const FILTERS = ['type', 'group', 'failure', 'status', 'error', 'key', 'diedAfter', 'diedBefore'];
const GROUP_FILTERS = ['type', 'failure', 'status'];

class DeadLettersPage extends Page {
  static properties = {
    selected: { state: true },
    group: { state: true },
    doing: { state: true },
    failed: { state: true },
  };

  #groups = new PagedList(this, (cursor, signal) =>
    this.#list('/v1/dead-letters/groups', this.#queryOf(GROUP_FILTERS), cursor, signal),
  );
  #letters = new PagedList(this, (cursor, signal) =>
    this.#list('/v1/dead-letters', this.#queryOf(FILTERS), cursor, signal),
  );

  constructor() {
    super();
    this.selected = new Set();
    this.group = null;
    this.doing = '';
    this.failed = null;
  }

  get heading() {
    return 'Dead letters';
  }

  /** Redrives may be of any type, so a key limited to types has no access to them. */
  get #views() {
    return this.#own.length > 0 ? VIEWS.filter((each) => each.id !== 'redrives') : VIEWS;
  }

  get view() {
    const asked = this.query.get('view');
    return this.#views.some((each) => each.id === asked) ? asked : 'groups';
  }

  /** The types that the key is limited to. */
  get #own() {
    return api.caller?.types ?? [];
  }

  /** Whether the user chose a filter: a key limited to several types always has the type set. */
  #isFiltered(names) {
    return names.some((name) => this.query.get(name) && !(name === 'type' && this.#own.length > 1));
  }

  #queryOf(names) {
    return Object.fromEntries(names.map((name) => [name, this.query.get(name) ?? '']));
  }

  async #list(at, query, cursor, signal) {
    const { data } = await api.get(at, { query: { ...query, limit: 50, cursor: cursor ?? '' }, signal });
    return data;
  }

  connectedCallback() {
    super.connectedCallback();
    // The counts of groups are stored, so a refresh reads one page of an index.
    this.every(
      10_000,
      () =>
        this.view === 'groups' &&
        !this.#groups.busy &&
        !this.#groups.isRefused &&
        this.doing === '' &&
        this.#groups.reload(),
    );
  }

  async load(signal) {
    if (this.#own.length > 1 && !this.query.get('type')) {
      // A key limited to several types must name one.
      setQuery({ ...Object.fromEntries(this.query), type: this.#own[0] }, { quietly: true });
      return;
    }
    this.selected = new Set();
    this.failed = null;
    if (this.view === 'groups') await this.#groups.first();
    if (this.view === 'letters') await Promise.all([this.#letters.first(), this.#loadGroup(signal)]);
  }

  /** Loads the group that is filtered by, with its counts. */
  async #loadGroup(signal) {
    const group = this.query.get('group');
    if (!group) {
      this.group = null;
    } else if (this.group?.group !== group) {
      const query = { type: this.query.get('type') ?? '', limit: 1000 };
      const { data } = await api
        .get('/v1/dead-letters/groups', { query, signal })
        .catch(() => ({ data: { items: [] } }));
      if (!signal.aborted) this.group = data.items.find((each) => each.group === group) ?? null;
    }
  }

  /** The body of a redrive or purge of what is shown. */
  get #filter() {
    const body = {};
    for (const name of FILTERS) {
      const value = this.query.get(name);
      if (value) body[name] = name === 'status' ? Number(value) : value;
    }
    return Object.keys(body).length > 0 ? body : { all: true };
  }

  #act(name, action) {
    return this.keepFocus(async () => {
      this.doing = name;
      this.failed = null;
      try {
        const done = await action();
        if (done) {
          this.group = null;
          await this.reload();
        }
        if (done?.status === 'RUNNING') setQuery({ view: 'redrives' });
      } catch (e) {
        this.failed = e;
      }
      this.doing = '';
    });
  }

  render() {
    return html`
      <h1>Dead letters</h1>
      <c-tabs
        label="Dead letters"
        .tabs=${this.#views}
        .selected=${this.view}
        @change=${(e) =>
          setQuery({
            view: e.detail === 'groups' ? '' : e.detail,
            type: this.#own.length > 1 ? this.query.get('type') : '',
          })}
      ></c-tabs>
      ${this.#types()} ${problem(this.failed)} ${problem(this.error)}
      <div
        id="panel-${this.view}"
        role="tabpanel"
        aria-label=${this.#views.find((each) => each.id === this.view).label}
      >
        ${this.view === 'groups' ? this.#groupList() : nothing}
        ${this.view === 'letters' ? this.#letterList() : nothing}
        ${this.view === 'redrives' ? html`<c-redrives></c-redrives>` : nothing}
      </div>
    `;
  }

  /** Tabs by type, for a key limited to several types. */
  #types() {
    if (this.#own.length < 2) return nothing;
    const view = this.view === 'groups' ? '' : this.view;
    return html`<nav class="tabs" aria-label="Type">
      ${this.#own.map(
        (type) =>
          html`<a
            class="tab"
            href=${href('dead-letters', { view, type })}
            aria-current=${this.query.get('type') === type ? 'page' : nothing}
            >${type}</a
          >`,
      )}
    </nav>`;
  }

  get #view() {
    return {
      selected: this.selected,
      select: (ids, on) => {
        const all = new Set(this.selected);
        for (const id of ids) all[on ? 'add' : 'delete'](id);
        this.selected = all;
      },
      doing: this.doing,
      act: (name, action) => this.#act(name, action),
    };
  }

  #searchForm() {
    const value = (name) => this.query.get(name) ?? '';
    const submit = (event) => {
      event.preventDefault();
      const form = Object.fromEntries(new FormData(event.target));
      setQuery({ ...Object.fromEntries(this.query), ...form });
    };
    return html`<search>
      <form class="row find" @submit=${submit}>
        <input
          type="search"
          name="error"
          class="grow"
          aria-label="Error or response contains"
          placeholder="Error or response contains …"
          maxlength="200"
          .value=${value('error')}
        />
        <input name="type" aria-label="Type" placeholder="Type" maxlength="100" .value=${value('type')} />
        <input name="key" aria-label="Key" placeholder="Key" maxlength="200" .value=${value('key')} />
        <button type="submit" class="outline">Filter</button>
      </form>
    </search>`;
  }

  #groupList() {
    const pages = this.#groups;
    if (!pages.ready && !pages.error) return loading();
    const filtered = this.#isFiltered(GROUP_FILTERS);
    if (pages.ready && pages.items.length === 0 && !pages.hasNext && !pages.hasBack) {
      return filtered
        ? empty({ title: 'No matching dead letters', text: html`<a href=${href('dead-letters')}>Clear filters</a>` })
        : noLetters();
    }
    return html`
      ${problem(pages.error)}
      ${filtered ? html`<p>Filtered. <a href=${href('dead-letters')}>Clear filters</a></p>` : nothing}
      ${groupTable(pages.items, (body, name) => this.#actions(body, name))}
      <c-pager .pages=${pages}></c-pager>
    `;
  }

  #actions(body, name, label = 'Redrive') {
    if (!api.may('TASKS_OPERATE')) return nothing;
    return html`<div class="row">
      <button
        type="button"
        class="small"
        aria-busy=${this.doing === name}
        ?disabled=${this.doing !== ''}
        @click=${() => this.#act(name, () => redriveDialog(body))}
      >
        ${label}
      </button>
      <button
        type="button"
        class="small outline danger"
        ?disabled=${this.doing !== ''}
        @click=${() => this.#act(name, () => purgeDialog(body))}
      >
        Purge
      </button>
    </div>`;
  }

  #letterList() {
    const pages = this.#letters;
    const selected = pages.items.filter((each) => this.selected.has(each.id)).map((each) => each.id);
    const filtered = this.#isFiltered(FILTERS);
    return html`
      ${
        this.query.get('group')
          ? html`<nav class="trail" aria-label="Breadcrumb"><a href=${href('dead-letters')}>All groups</a></nav>`
          : this.#searchForm()
      }
      ${groupHead(this.group)} ${problem(pages.error)}
      <div class="row bulk">
        ${
          selected.length > 0
            ? html`<strong>${count(selected.length)} selected</strong> ${this.#actions({ ids: selected }, 'selected')}
                <button type="button" class="quiet small" @click=${() => (this.selected = new Set())}>
                  Clear selection
                </button>`
            : pages.items.length > 0
              ? this.#actions(this.#filter, 'all', filtered ? 'Redrive all matching' : 'Redrive all')
              : nothing
        }
        <button type="button" class="quiet small end" aria-busy=${pages.busy} @click=${() => pages.reload()}>
          ↻ Refresh
        </button>
      </div>
      ${!pages.ready && !pages.error ? loading() : nothing}
      ${
        pages.ready && pages.items.length === 0 && !pages.hasNext && !pages.busy
          ? filtered
            ? empty({ title: 'No dead letters match', text: html`<a href=${href('dead-letters')}>Clear filters</a>` })
            : noLetters()
          : nothing
      }
      ${pages.items.length > 0 ? letterTable(pages.items, this.#view) : nothing}
      <c-pager .pages=${pages}></c-pager>
    `;
  }
}
customElements.define('page-dead-letters', DeadLettersPage);
