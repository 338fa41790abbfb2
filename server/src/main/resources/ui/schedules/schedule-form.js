// <c-schedule-form>: creates or edits a schedule, with a preview of its next runs while typing.

import { html, nothing } from 'lit';
import { api, isTransient, path } from '../api.js';
import { ago, visible } from '../format.js';
import { problem } from '../parts.js';
import { field, readForm } from '../parts/fields.js';
import { PutForm } from '../parts/put-form.js';
import { localText } from './fires.js';
import { policyFields, whenFields } from './schedule-fields.js';
import { retryFields } from '../types/target.js';

const PREVIEW_DELAY = 350;
const NEVER = /^it would never fire: /; // the label says so already

const RULE = ['cron', 'every', 'timezone', 'dst', 'startAt', 'endAt'];

const PRIORITIES = [['', 'from the type'], ...Array.from({ length: 10 }, (_, i) => [String(i), String(i)])];

class ScheduleForm extends PutForm {
  static properties = {
    ...PutForm.properties,
    isEvery: { state: true },
    hasRetry: { state: true },
    preview: { state: true },
    previewError: { state: true },
    types: { state: true },
  };

  #timer = null;
  #abort = null;

  constructor() {
    super({
      kind: 'schedule',
      namePattern: '[A-Za-z0-9_.][A-Za-z0-9_.\\-]*',
      at: (name) => path`/v1/schedules/${name}`,
    });
    this.isEvery = false;
    this.hasRetry = false;
    this.preview = null;
    this.previewError = null;
    this.types = [];
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
    if (!changed.has('value') || !this.value) return;
    this.isEvery = this.value.every !== null;
    this.hasRetry = this.value.retry !== null;
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

  body() {
    const body = super.body();
    if ('priority' in body) body.priority = Number(body.priority);
    return body;
  }

  async #loadPreview() {
    this.#abort?.abort();
    const abort = new AbortController();
    this.#abort = abort;
    try {
      const rule = readForm(this.form, RULE);
      if (!rule.cron && !rule.every) {
        this.preview = null;
        this.previewError = null;
        return;
      }
      if (this.name) rule.name = this.name;
      const { data } = await api.post('/v1/schedules/preview', rule, { signal: abort.signal });
      this.preview = data;
      this.previewError = null;
    } catch (e) {
      if (abort.signal.aborted) return;
      this.previewError = e;
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
    const s = this.value ?? {};
    const errors = this.error?.errors;
    const note = this.value ? html`<p class="muted"><small>Changes apply to future runs.</small></p>` : nothing;
    return html`<form class="card form" @submit=${this.save} @input=${this.#previewSoon} @change=${this.#previewSoon}>
      ${this.nameField()} ${this.#when(s, errors)} ${this.#task(s, errors)} ${policyFields(s, errors)}
      ${this.footer(note)}
      <datalist id="zones">
        ${Intl.supportedValuesOf('timeZone').map((zone) => html`<option value=${zone}></option>`)}
      </datalist>
      <datalist id="types">${this.types.map((type) => html`<option value=${type}></option>`)}</datalist>
    </form>`;
  }
}
customElements.define('c-schedule-form', ScheduleForm);
