// #/types: every type with its target and figures. ?new=1 is the form for a new one.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { curlIf, ownType } from '../curl.js';
import { badge, count, duration, firstLine, span } from '../format.js';
import { PagedList, empty, loading, problem } from '../parts.js';
import { Page } from '../page.js';
import { go, href } from '../router.js';
import { retryText, typeTargetText } from '../types/target.js';
import '../types/type-form.js';

const PER_PAGE = 100;
const REFRESH_INTERVAL = 30_000;
const MIN_REFRESH_INTERVAL = 5_000;

const FIRST = { target: { http: { url: 'https://example.com/hook' } }, retry: { maxAttempts: 5 } };

const none = html`<span class="muted">–</span>`;

class TypesPage extends Page {
  static properties = { stats: { state: true }, filter: { state: true } };

  #refreshedAt = 0;

  constructor() {
    super();
    this.stats = null;
    this.filter = '';
    this.pages = new PagedList(this, async (cursor, signal) => {
      return (await api.get('/v1/types', { query: { limit: PER_PAGE, cursor }, signal })).data;
    });
  }

  get heading() {
    return this.#isNew ? 'New type' : 'Types';
  }

  get #isNew() {
    return this.query.has('new') && api.may('TYPES_CONFIGURE');
  }

  connectedCallback() {
    super.connectedCallback();
    this.listen('stats', (stats) => this.#onStats(stats));
    this.every(REFRESH_INTERVAL, () => this.#refresh());
  }

  /** The stats also say which types are paused: reload a list that is older. */
  #onStats(stats) {
    this.stats = stats;
    const paused = new Map(stats.types.map((each) => [each.type, each.paused]));
    const isOld = this.pages.items.some(({ name, paused: was }) => (paused.get(name) ?? was) !== was);
    if (isOld && Date.now() - this.#refreshedAt > MIN_REFRESH_INTERVAL) this.#refresh();
  }

  #refresh() {
    if (this.#isNew || this.pages.busy || this.pages.isRefused || document.hidden) return;
    this.#refreshedAt = Date.now();
    this.pages.reload();
  }

  async load() {
    if (!this.#isNew) await this.pages.first();
  }

  #row(type, stats) {
    // The stats omit idle types, and types beyond the first 200.
    const isKnown = stats || this.stats?.moreTypes === 0;
    const num = (/** @type {string} */ label, /** @type {number} */ n, /** @type {unknown} */ text = count(n)) =>
      html`<td class="num" data-label=${label}>${n ? text : isKnown ? html`<span class="muted">0</span>` : none}</td>`;
    const oldest = stats?.oldestDue
      ? span((Date.parse(this.stats.seenAt.due) - Date.parse(stats.oldestDue)) / 1000)
      : null;
    const perSecond = stats?.hour?.perSecond ?? 0;
    return html`<tr>
      <th scope="row">
        <div>
          <a href=${href('types', type.name)}><strong>${type.name}</strong></a>
          ${type.paused ? badge('warn', '‖', 'Paused') : nothing}
          ${
            type.paused && type.pausedReason ? html`<br /><small>${firstLine(type.pausedReason, 100)}</small>` : nothing
          }
        </div>
      </th>
      <td data-label="Target" class="whole">
        <div>
          <span class="clip" title=${typeTargetText(type.target)}>${firstLine(typeTargetText(type.target), 80)}</span>
          <br /><small>${retryText(type.retry)}</small>
        </div>
      </td>
      ${num('Ready', stats?.due, `${count(stats?.due)}${stats?.dueAtLeast ? '+' : ''}`)}
      <td class="num" data-label="Oldest">${oldest ?? none}</td>
      ${num('In flight', stats?.running)} ${num('Pending', stats?.pending)}
      ${num(
        'Dead',
        stats?.dead,
        html`<a class="bad" href=${href('dead-letters', { type: type.name })}>${count(stats?.dead)}</a>`,
      )}
      ${num('Throughput (1h)', perSecond, perSecond < 0.1 ? '< 0.1/s' : `${count(Math.round(perSecond * 10) / 10)}/s`)}
      <td class="num" data-label="Start delay p95 (1h)">${stats ? duration(stats.hour?.lateness?.p95) : none}</td>
    </tr>`;
  }

  #list() {
    const { pages } = this;
    if (!pages.ready) return pages.error ? nothing : loading();
    if (pages.items.length === 0 && !pages.hasBack) {
      return empty({
        title: ownType('') ? "None of this key's types exist yet" : 'No types yet',
        text: `A type holds the target and retry policy its tasks share. It is created with its first task${
          api.may('TYPES_CONFIGURE') ? ', or in advance:' : '.'
        }`,
        curl: curlIf('TYPES_CONFIGURE', 'PUT', '/v1/types/hello', FIRST),
      });
    }
    const byName = new Map((this.stats?.types ?? []).map((each) => [each.type, each]));
    const wanted = this.filter.trim().toLowerCase();
    const shown = pages.items.filter(
      (type) => type.name.toLowerCase().includes(wanted) || typeTargetText(type.target).toLowerCase().includes(wanted),
    );
    return html`
      <div class="table numbers">
        <table>
          <thead>
            <tr>
              <th scope="col">Type</th>
              <th scope="col">Target / retries</th>
              ${['Ready', 'Oldest', 'In flight', 'Pending', 'Dead', 'Throughput (1h)', 'Start delay p95 (1h)'].map(
                (text) => html`<th scope="col" class="num">${text}</th>`,
              )}
            </tr>
          </thead>
          <tbody>
            ${shown.map((type) => this.#row(type, byName.get(type.name)))}
          </tbody>
        </table>
      </div>
      <c-pager .pages=${pages}></c-pager>
    `;
  }

  render() {
    if (this.#isNew) {
      return html`<h1>New type</h1>
        <c-type-form @saved=${(e) => go('types', e.detail.name)} @left=${() => go('types')}></c-type-form>`;
    }
    return html`
      <div class="row spread">
        <h1>Types</h1>
        <div class="row">
          <input
            type="search"
            class="small"
            aria-label="Filter"
            placeholder="Filter"
            .value=${this.filter}
            @input=${(e) => (this.filter = e.target.value)}
          />
          ${
            api.may('TYPES_CONFIGURE')
              ? html`<a role="button" class="small" href=${href('types', { new: 1 })}>New type</a>`
              : nothing
          }
        </div>
      </div>
      ${problem(this.error ?? this.pages.error)} ${this.#list()}
    `;
  }
}
customElements.define('page-types', TypesPage);
