// <c-schedule-form>: creates or edits a schedule, with a preview of its next runs while typing.

import { LitElement, html, nothing } from 'lit';
import { api, isTransient, path, stale } from '../api.js';
import { curl } from '../curl.js';
import { ago, visible } from '../format.js';
import { problem, toast } from '../parts.js';
import { field, putForm, readForm } from '../parts/fields.js';
import { localText } from './fires.js';
import { policyFields, whenFields } from './schedule-fields.js';
import { retryFields } from '../types/target.js';

const PREVIEW_DELAY = 350;
const NEVER = /^it would never fire: /; // the label says so already

const RULE = ['cron', 'every', 'timezone', 'dst', 'startAt', 'endAt'];

const PRIORITIES = [['', 'from the type'], ...Array.from({ length: 10 }, (_, i) => [String(i), String(i)])];

/** Dispatches 'saved' with the schedule, or 'left'. */
class ScheduleForm extends LitElement {
  static properties = {
    /** The schedule to edit, parsed exactly; undefined for a new one. */
    schedule: { attribute: false },
    etag: { attribute: false },
    isEvery: { state: true },
    hasRetry: { state: true },
    preview: { state: true },
    previewError: { state: true },
    error: { state: true },
    busy: { state: true },
    types: { state: true },
    command: { state: true },
  };

  #timer = null;
  #abort = null;

  constructor() {
    super();
    this.schedule = undefined;
    this.etag = null;
    this.isEvery = false;
    this.hasRetry = false;
    this.preview = null;
    this.previewError = null;
    this.error = null;
    this.busy = false;
    this.types = [];
    this.command = '';
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#loadTypes();
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearTimeout(this.#timer);
    this.#abort?.abort();
  }

  willUpdate(changed) {
    if (!changed.has('schedule') || !this.schedule) return;
    this.isEvery = this.schedule.every !== null;
    this.hasRetry = this.schedule.retry !== null;
  }

  firstUpdated() {
    this.#previewSoon();
  }

  async #loadTypes() {
    const { data } = await api.get('/v1/types', { query: { limit: 200 } }).catch(() => ({ data: { items: [] } }));
    this.types = data.items.map((type) => type.name);
  }

  #previewSoon() {
    clearTimeout(this.#timer);
    this.#timer = setTimeout(() => this.#loadPreview(), PREVIEW_DELAY);
  }

  get #name() {
    return /** @type {HTMLInputElement} */ (this.#form.elements.namedItem('name')).value;
  }

  get #form() {
    return this.querySelector('form');
  }

  async #loadPreview() {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const rule = readForm(this.#form, RULE);
      if (!rule.cron && !rule.every) {
        this.preview = null;
        this.previewError = null;
        return;
      }
      const name = this.schedule?.name ?? this.#name.trim();
      if (name) rule.name = name;
      const { data } = await api.post('/v1/schedules/preview', rule, { signal: abort.signal });
      this.preview = data;
      this.previewError = null;
    } catch (e) {
      if (abort.signal.aborted) return;
      this.previewError = e;
    }
  }

  #body() {
    const body = readForm(this.#form);
    if ('priority' in body) body.priority = Number(body.priority);
    return body;
  }

  async #save(event) {
    event.preventDefault();
    this.busy = true;
    try {
      const name = this.schedule?.name ?? this.#name.trim();
      const data = await putForm({
        kind: 'schedule',
        at: path`/v1/schedules/${name}`,
        isNew: !this.schedule,
        body: () => this.#body(),
        ifMatch: this.etag,
      });
      this.error = null;
      toast(this.schedule ? `Saved ${name}` : `Created ${name}`);
      this.dispatchEvent(new CustomEvent('saved', { detail: data }));
    } catch (e) {
      this.error = stale(e, 'Reload to get the current version. Your changes here will be lost.');
      await this.updateComplete;
      this.querySelector('[role=alert]')?.scrollIntoView({ block: 'nearest' });
    } finally {
      this.busy = false;
    }
  }

  #asCurl() {
    try {
      const name = this.schedule?.name ?? (this.#name.trim() || 'NAME');
      this.command = curl('PUT', path`/v1/schedules/${name}`, this.#body());
    } catch (e) {
      this.error = e;
    }
  }

  #when(s, errors) {
    const which = (isEvery, text) =>
      html`<label>
        <input
          type="radio"
          name="rule"
          .checked=${this.isEvery === isEvery}
          @change=${() => (this.isEvery = isEvery)}
        />
        ${text}
      </label>`;
    return html`<fieldset>
      <legend>When</legend>
      <div class="row" role="radiogroup" aria-label="Schedule type">
        ${which(false, 'Cron')} ${which(true, 'Interval')}
      </div>
      <div class="fields">${whenFields(s, errors, this.isEvery)}</div>
      ${this.#previewed()}
    </fieldset>`;
  }

  #previewed() {
    const { preview, previewError } = this;
    if (isTransient(previewError)) return html`<div class="preview" role="status">${problem(previewError)}</div>`;
    if (previewError) {
      const texts = previewError.errors?.map((each) => each.message ?? each.detail) ?? [];
      return html`<div class="preview preview-bad" role="status">
        <strong>Invalid schedule:</strong>
        ${visible(texts.join('; ') || previewError.detail || previewError.message).replace(NEVER, '')}
      </div>`;
    }
    if (!preview)
      return html`<div class="preview muted" role="status">Enter a schedule to preview its next runs.</div>`;
    return html`<div class="preview" role="status">
      <strong>${preview.description}</strong> <span class="muted">${this.isEvery ? '' : preview.timezone}</span>
      <ol>
        ${preview.nextRuns.map(
          (run) =>
            html`<li>
              ${run.skipped ? html`<s>${localText(run.local)}</s>` : localText(run.local)}
              <span class="muted">${ago(run.at)}</span>
              ${run.note ? html`<div class="note">${run.note}</div>` : nothing}
            </li>`,
        )}
      </ol>
      ${preview.nextRuns.length === 0 ? html`<p class="wrong">No runs between start and end.</p>` : nothing}
    </div>`;
  }

  #task(s, errors) {
    return html`<fieldset>
      <legend>Task</legend>
      <div class="fields">
        ${field({ name: '/type', label: 'Type', value: s.type, errors, list: 'types', required: true, maxlength: 100 })}
        ${field({ name: '/key', label: 'Key', value: s.key, kind: 'raw', errors, maxlength: 200 })}
        ${field({
          name: '/priority',
          label: 'Priority',
          value: s.priority === null || s.priority === undefined ? '' : String(s.priority),
          choices: PRIORITIES,
          errors,
        })}
        ${field({
          name: '/payload',
          label: 'Payload (JSON)',
          value: s.payload,
          kind: 'json',
          rows: 4,
          errors,
          placeholder: '{"room": "blue"}',
        })}
      </div>
      <details open>
        <summary>Target</summary>
        <div class="fields"><c-target-fields .value=${s.target ?? null} .errors=${errors}></c-target-fields></div>
      </details>
      <details ?open=${this.hasRetry}>
        <summary>Retries</summary>
        <label
          ><input
            type="checkbox"
            role="switch"
            .checked=${this.hasRetry}
            @change=${(e) => (this.hasRetry = e.target.checked)}
          />
          Override the type's retry policy</label
        >
        ${this.hasRetry ? html`<div class="fields">${retryFields(s.retry, errors)}</div>` : nothing}
      </details>
    </fieldset>`;
  }

  render() {
    const s = this.schedule ?? {};
    const errors = this.error?.errors;
    return html`<form class="card form" @submit=${this.#save} @input=${this.#previewSoon} @change=${this.#previewSoon}>
      ${
        this.schedule
          ? nothing
          : html`<div class="fields">
              <div class="field">
                <label for="schedule-name">Name<span class="muted"> (required)</span></label>
                <input
                  id="schedule-name"
                  name="name"
                  required
                  maxlength="100"
                  pattern="[A-Za-z0-9_.][A-Za-z0-9_.\\-]*"
                  autocomplete="off"
                  spellcheck="false"
                  aria-describedby="schedule-name-hint"
                />
                <small id="schedule-name-hint">Letters, digits, _ . and -</small>
              </div>
            </div>`
      }
      ${this.#when(s, errors)} ${this.#task(s, errors)} ${policyFields(s, errors)} ${problem(this.error)}
      ${this.schedule ? html`<p class="muted"><small>Changes apply to future runs.</small></p>` : nothing}
      <div class="row">
        <button type="submit" aria-busy=${this.busy} ?disabled=${this.busy}>
          ${this.schedule ? 'Save' : 'Create schedule'}
        </button>
        <button type="button" class="secondary outline" @click=${() => this.dispatchEvent(new CustomEvent('left'))}>
          Cancel
        </button>
        <button type="button" class="secondary outline" @click=${this.#asCurl}>Show as curl</button>
      </div>
      ${this.command ? html`<c-json .value=${this.command} label="Command"></c-json>` : nothing}
      <datalist id="zones">
        ${Intl.supportedValuesOf('timeZone').map((zone) => html`<option value=${zone}></option>`)}
      </datalist>
      <datalist id="types">${this.types.map((type) => html`<option value=${type}></option>`)}</datalist>
    </form>`;
  }
}
customElements.define('c-schedule-form', ScheduleForm);
