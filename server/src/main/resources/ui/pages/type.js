// #/types/{name}: how a type does, what it is set to, and its switches.

import { html, nothing } from 'lit';
import { api, path } from '../api.js';
import { bytes, compact, count, badge, duration, plural, span, visible } from '../format.js';
import { asked, deleted, loading, problem, tile, toast } from '../parts.js';
import { Page } from '../page.js';
import { go, href, setQuery } from '../router.js';
import { getExact } from '../exact-json.js';
import { retryText, targetText } from '../types/target.js';
import '../overview/activity.js';
import '../types/type-form.js';

const LOOK_AGAIN = 10_000;

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
    this.every(LOOK_AGAIN, () => this.#lookAgain());
  }

  async load(signal) {
    const [{ data, etag }, limits] = await Promise.all([
      getExact(this.#at),
      api.get('/v1/limits', { signal }),
      this.#numbers(signal),
    ]);
    if (signal.aborted) return;
    this.type = data;
    this.etag = etag;
    this.limits = limits.data;
  }

  /** The numbers, and the rest if somebody else has paused or resumed it; never under a form. */
  async #lookAgain() {
    const isThere = await this.#numbers();
    const isOther = this.type && this.stats && this.stats.paused !== this.type.paused;
    if ((isOther || !isThere) && !this.query.has('edit') && this.isConnected) await this.reload();
  }

  /** @returns {Promise<boolean>} false if there is no such type (any more) */
  async #numbers(signal) {
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
    const body = 'Nothing of this type starts any more. What runs goes on, and tasks can still be made.';
    if (await asked({ title: `Pause ${this.#name}?`, body, action: 'Pause', submit }))
      this.#done(`${this.#name} is paused`);
  }

  async #resume() {
    const submit = () => api.post(`${this.#at}/resume`);
    const due = this.stats?.due
      ? ` ${plural(this.stats.due, 'task')}${this.stats.dueAtLeast ? ' and more' : ''} will start at once.`
      : '';
    const body = `Its tasks start again.${due}`;
    if (await asked({ title: `Resume ${this.#name}?`, body, action: 'Resume', submit }))
      this.#done(`${this.#name} goes on`);
  }

  async #delete() {
    const body =
      'Its settings are gone. A type that has tasks which wait or run, or that a schedule names, cannot be deleted.';
    const submit = () => api.del(this.#at, { ifMatch: this.etag });
    if (await deleted({ name: this.#name, body, submit })) go('types');
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
      ${t?.pausedReason ? html`<div class="alert warn" role="note"><strong>Paused</strong>: ${visible(t.pausedReason)}</div>` : nothing}
    `;
  }

  #tiles() {
    const s = this.stats;
    if (!s) return nothing;
    const oldest = s.oldestDue
      ? `the oldest for ${span((Date.now() - Date.parse(s.oldestDue)) / 1000)}`
      : 'nothing waits for its turn';
    const { hour, day } = s;
    const late = hour.lateness ?? {};
    return html`<dl class="tiles">
      ${tile('Due now', `${compact(s.due)}${s.dueAtLeast ? '+' : ''}`, oldest)}
      ${tile('In flight', compact(s.running), 'started and not ended', href('tasks', { type: this.#name, status: 'RUNNING' }))}
      ${tile('Waiting', compact(s.pending), 'due now or later', href('tasks', { type: this.#name, status: 'PENDING' }))}
      ${tile('Dead letters', compact(s.dead), html`${compact(hour.dead)} in the last hour`, href('dead-letters', { type: this.#name }))}
      ${tile('Completed, last hour', compact(hour.completed), day ? `${compact(day.completed)} in the last day` : '')}
      ${tile('Half start within', late.p50 ? duration(late.p50) : '–', late.p50 ? `95 % ${duration(late.p95)}, 99 % ${duration(late.p99)}` : 'nothing started in the last hour')}
    </dl>`;
  }

  #settings(t) {
    const fact = (name, value) =>
      html`<dt>${name}</dt>
        <dd>${value}</dd>`;
    const codes = (list) => (list?.length ? list.join(', ') : 'as usual');
    return html`<div class="pair">
        <section class="card" aria-labelledby="settings">
          <h2 id="settings">Settings</h2>
          <dl class="facts">
            ${fact('Target', targetText(t.target))} ${fact('Retries', retryText(t.retry))}
            ${fact('Answers that complete', codes(t.successCodes))} ${fact('Answers to retry', codes(t.retryCodes))}
            ${fact('Answers that end it', codes(t.deadCodes))}
            ${fact('Told of completed ones', t.onComplete ? targetText(t.onComplete) : 'nobody')}
            ${fact('Told of dead ones', t.onDead ? targetText(t.onDead) : 'nobody')}
            ${fact('Deliveries are signed', t.signed ? 'yes' : 'no')} ${fact('Version', count(t.version))}
          </dl>
        </section>
        <section class="card" aria-labelledby="limits">
          <h2 id="limits">Limits</h2>
          <dl class="facts">
            ${fact('Deadline of an attempt', duration(t.timeout))} ${fact("A worker's lease", duration(t.leaseTimeout))}
            ${fact('Attempts', count(t.retry.maxAttempts))} ${fact('Priority', count(t.priority))}
            ${fact('Slices', count(t.slices))}
            ${this.limits ? fact('Payload at most', bytes(this.limits.payloadBytes)) : nothing}
            ${this.limits ? fact('Output at most', bytes(this.limits.outputBytes)) : nothing}
          </dl>
        </section>
      </div>
      ${t.schema === null || t.schema === undefined ? nothing : html`<c-json .value=${t.schema} label="Schema of payloads"></c-json>`}`;
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
        <a href=${href('tasks', { type: this.#name })}>All its tasks</a>
        <a href=${href('dead-letters', { type: this.#name })}>Its dead letters</a>
      </p>`;
  }

  render() {
    return html`${this.#head()} ${problem(this.error)}
    ${this.type ? this.#body(this.type) : this.error ? nothing : loading()}`;
  }
}
customElements.define('page-type', TypePage);
