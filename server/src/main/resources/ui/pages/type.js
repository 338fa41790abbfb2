// #/types/{name}: the figures of a type, its settings and its actions.

import { html, nothing } from 'lit';
import { api, path } from '../api.js';
import { bytes, compact, count, badge, plural, setDuration, span, visible } from '../format.js';
import { ask, confirmDelete, loading, problem, tile, toast } from '../parts.js';
import { Page } from '../page.js';
import { go, href, setQuery } from '../router.js';
import { getExact } from '../exact-json.js';
import { retryText, targetText, typeTargetText } from '../types/target.js';
import { startDelayTile } from '../overview/tiles.js';
import '../overview/activity.js';
import '../types/type-form.js';

const REFRESH_INTERVAL = 10_000;

class TypePage extends Page {
  static properties = { type: { state: true }, stats: { state: true }, limits: { state: true } };

  constructor() {
    super();
    this.type = null;
    this.etag = null;
    this.stats = null;
    this.limits = null;
  }

  get #name() {
    return this.params[0];
  }

  get #at() {
    return path`/v1/types/${this.#name}`;
  }

  get heading() {
    return this.#name;
  }

  connectedCallback() {
    super.connectedCallback();
    this.every(REFRESH_INTERVAL, () => this.#refresh());
  }

  async load(signal) {
    const [{ data, etag }, limits] = await Promise.all([
      getExact(this.#at),
      api.get('/v1/limits', { signal }),
      this.#loadStats(signal),
    ]);
    if (signal.aborted) return;
    this.type = data;
    this.etag = etag;
    this.limits = limits.data;
  }

  /** Loads the stats, and the type too if it was paused or resumed elsewhere; never under a form. */
  async #refresh() {
    const isThere = await this.#loadStats();
    const isOther = this.type && this.stats && this.stats.paused !== this.type.paused;
    if ((isOther || !isThere) && !this.query.has('edit') && this.isConnected) await this.reload();
  }

  /** @returns {Promise<boolean>} false if the type does not exist */
  async #loadStats(signal) {
    try {
      const { data } = await api.get(`${this.#at}/stats`, { signal });
      if (this.isConnected) this.stats = data;
    } catch (e) {
      return e.status !== 404;
    }
    return true;
  }

  async #pause() {
    const submit = () => api.post(`${this.#at}/pause`);
    const body = 'No task of this type will start. Running tasks continue, and new tasks are accepted.';
    if (await ask({ title: `Pause ${this.#name}?`, body, action: 'Pause', submit })) this.#done(`Paused ${this.#name}`);
  }

  async #resume() {
    const submit = () => api.post(`${this.#at}/resume`);
    const due = this.stats?.due
      ? ` ${plural(this.stats.due, 'task')}${this.stats.dueAtLeast ? ' or more' : ''} are ready to start.`
      : '';
    const body = `Tasks of this type will start again.${due}`;
    if (await ask({ title: `Resume ${this.#name}?`, body, action: 'Resume', submit }))
      this.#done(`Resumed ${this.#name}`);
  }

  async #delete() {
    const body =
      'Deletes its settings. A type with pending or running tasks, or used by a schedule, cannot be deleted.';
    const submit = () => api.del(this.#at, { ifMatch: this.etag });
    if (await confirmDelete({ name: this.#name, body, submit })) go('types');
  }

  async #done(text) {
    toast(text);
    await this.reload();
  }

  #head() {
    const t = this.type;
    const button = (text, action, className = 'outline') =>
      html`<button type="button" class="small ${className}" @click=${action}>${text}</button>`;
    return html`
      <p class="crumbs"><a href=${href('types')}>Types</a></p>
      <div class="row spread">
        <h1>${this.#name} ${t?.paused ? badge('warn', '‖', 'Paused') : nothing}</h1>
        ${
          t && api.may('TYPES_CONFIGURE')
            ? html`<div class="row">
                ${t.paused ? button('Resume', () => this.#resume(), '') : button('Pause', () => this.#pause())}
                ${this.query.has('edit') ? nothing : button('Edit', () => setQuery({ edit: 1 }))}
                ${button('Delete', () => this.#delete(), 'outline danger')}
              </div>`
            : nothing
        }
      </div>
      ${
        t?.pausedReason
          ? html`<div class="alert warn" role="note"><strong>Paused</strong>: ${visible(t.pausedReason)}</div>`
          : nothing
      }
    `;
  }

  #tiles() {
    const s = this.stats;
    if (!s) return nothing;
    const oldest = s.oldestDue
      ? `oldest waiting ${span((Date.now() - Date.parse(s.oldestDue)) / 1000)}`
      : 'queue empty';
    const { hour, day } = s;
    return html`<dl class="tiles">
      ${tile('Ready', `${compact(s.due)}${s.dueAtLeast ? '+' : ''}`, oldest)}
      ${tile('In flight', compact(s.running), 'running now', href('tasks', { type: this.#name, status: 'RUNNING' }))}
      ${tile(
        'Pending',
        compact(s.pending),
        'ready or scheduled',
        href('tasks', { type: this.#name, status: 'PENDING' }),
      )}
      ${tile(
        'Dead letters',
        compact(s.dead),
        html`${compact(hour.dead)} in the last hour`,
        href('dead-letters', { type: this.#name }),
      )}
      ${tile('Completed (1h)', compact(hour.completed), day ? `${compact(day.completed)} in 24h` : '')}
      ${startDelayTile(hour.lateness, '1h')}
    </dl>`;
  }

  #settings(t) {
    const fact = (name, value) =>
      html`<dt>${name}</dt>
        <dd>${value}</dd>`;
    const codes = (list) => (list?.length ? list.join(', ') : 'default');
    return html`<div class="pair">
        <section class="card" aria-labelledby="settings">
          <h2 id="settings">Settings</h2>
          <dl class="facts">
            ${fact('Target', typeTargetText(t.target))} ${fact('Retries', retryText(t.retry))}
            ${fact('Success status codes', codes(t.successCodes))} ${fact('Retry status codes', codes(t.retryCodes))}
            ${fact('Dead-letter status codes', codes(t.deadCodes))}
            ${fact('onComplete callback', t.onComplete ? targetText(t.onComplete) : 'none')}
            ${fact('onDead callback', t.onDead ? targetText(t.onDead) : 'none')}
            ${fact('Signed deliveries', t.signed ? 'yes' : 'no')} ${fact('Version', count(t.version))}
          </dl>
        </section>
        <section class="card" aria-labelledby="limits">
          <h2 id="limits">Limits</h2>
          <dl class="facts">
            ${fact('Attempt timeout', setDuration(t.timeout))} ${fact('Worker lease', setDuration(t.leaseTimeout))}
            ${fact('Max attempts', count(t.retry.maxAttempts))} ${fact('Priority', count(t.priority))}
            ${fact('Parallel lanes', count(t.slices))}
            ${this.limits ? fact('Max payload', bytes(this.limits.payloadBytes)) : nothing}
            ${this.limits ? fact('Max output', bytes(this.limits.outputBytes)) : nothing}
          </dl>
        </section>
      </div>
      ${
        t.schema === null || t.schema === undefined
          ? nothing
          : html`<c-json .value=${t.schema} label="Payload schema"></c-json>`
      }`;
  }

  #body(t) {
    if (this.query.has('edit') && api.may('TYPES_CONFIGURE')) {
      const leave = () => setQuery({});
      return html`<div class="card">
        <c-type-form .value=${t} .etag=${this.etag} @saved=${leave} @left=${leave}></c-type-form>
      </div>`;
    }
    return html`${this.#tiles()} <c-activity type=${this.#name}></c-activity> ${this.#settings(t)}
      <p class="row">
        <a href=${href('tasks', { type: this.#name })}>View tasks</a>
        <a href=${href('dead-letters', { type: this.#name })}>View dead letters</a>
      </p>`;
  }

  render() {
    return html`${this.#head()} ${problem(this.error)}
    ${this.type ? this.#body(this.type) : this.error ? nothing : loading()}`;
  }
}
customElements.define('page-type', TypePage);
