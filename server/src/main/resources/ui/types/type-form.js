// <c-type-form>: creates or edits a type.

import { html, nothing } from 'lit';
import { path } from '../api.js';
import { field } from '../parts/fields.js';
import { PutForm } from '../parts/put-form.js';
import { callbackFields, retryFields } from './target.js';

/** 32 random bytes, as Standard Webhooks writes secrets. */
const newSecret = () => {
  const bytes = crypto.getRandomValues(new Uint8Array(32));
  return `whsec_${btoa(String.fromCharCode(...bytes))}`;
};

class TypeForm extends PutForm {
  static properties = {
    ...PutForm.properties,
    secret: { state: true },
  };

  constructor() {
    super({ kind: 'type', namePattern: '[A-Za-z0-9_.\\-]+', at: (name) => path`/v1/types/${name}` });
    this.secret = '';
    this.addEventListener('saved', () => (this.secret = ''));
  }

  body() {
    const body = super.body();
    // The select of the method always has a value; without a URL there is no callback.
    for (const name of ['onComplete', 'onDead']) if (!body[name]?.http?.url) delete body[name];
    if (this.value) body.paused = this.value.paused; // a PUT without it would resume
    return body;
  }

  shownBody() {
    const body = this.body();
    if (body.signingSecret) body.signingSecret = 'whsec_…';
    return body;
  }

  #limits(t, errors) {
    return html`<fieldset>
      <legend>Limits</legend>
      <div class="fields">
        ${field({
          name: '/timeout',
          label: 'Attempt timeout',
          value: t.timeout,
          kind: 'duration',
          errors,
          placeholder: '30s',
          hint: '1s to 30m',
        })}
        ${field({
          name: '/leaseTimeout',
          label: 'Worker lease',
          value: t.leaseTimeout,
          kind: 'duration',
          errors,
          placeholder: '30s',
          hint: '1s to 24h; workers can renew',
        })}
        ${field({
          name: '/priority',
          label: 'Priority',
          value: t.priority,
          kind: 'number',
          min: 0,
          max: 9,
          errors,
          placeholder: '5',
          hint: '0 to 9; higher is more urgent',
        })}
        ${field({
          name: '/slices',
          label: 'Parallel lanes',
          value: t.slices,
          kind: 'number',
          min: 1,
          max: 64,
          errors,
          placeholder: '1',
          hint: 'More lanes let more nodes run this type at once',
        })}
      </div>
    </fieldset>`;
  }

  #responses(t, errors) {
    return html`<details ?open=${Boolean(t.successCodes?.length || t.retryCodes?.length || t.deadCodes?.length)}>
      <summary>Response handling</summary>
      <div class="fields">
        ${field({
          name: '/successCodes',
          label: 'Success codes',
          value: t.successCodes,
          kind: 'codes',
          errors,
          placeholder: '2xx',
        })}
        ${field({
          name: '/retryCodes',
          label: 'Retry codes',
          value: t.retryCodes,
          kind: 'codes',
          errors,
          placeholder: '408, 425, 429, 5xx',
        })}
        ${field({
          name: '/deadCodes',
          label: 'Dead-letter codes',
          value: t.deadCodes,
          kind: 'codes',
          errors,
          placeholder: 'all others',
        })}
      </div>
    </details>`;
  }

  #signing(t, errors) {
    return html`<details>
      <summary>Signing${t.signed ? ' (on)' : ''}</summary>
      <p class="muted">
        Deliveries are signed as in Standard Webhooks.
        ${
          t.signed
            ? 'Leave empty to keep the current secret. After a change, both secrets sign for 24 hours.'
            : 'Leave empty for unsigned deliveries.'
        }
        The secret is not shown again.
      </p>
      <div class="fields">
        ${field({
          name: '/signingSecret',
          label: 'Signing secret',
          value: this.secret,
          kind: this.secret ? 'text' : 'secret',
          errors,
          placeholder: 'whsec_…',
          wide: true,
          code: true,
        })}
      </div>
      <button type="button" class="small outline" @click=${() => (this.secret = newSecret())}>Generate</button>
      ${this.secret ? html`<c-copy .text=${this.secret} label="Copy secret"></c-copy>` : nothing}
    </details>`;
  }

  #callbacks(t, errors) {
    const part = (name, text) =>
      html`<h4>${text}</h4>
        <div class="fields">${callbackFields(`/${name}`, t[name], errors)}</div>`;
    return html`<details ?open=${Boolean(t.onComplete || t.onDead)}>
      <summary>Callbacks</summary>
      ${part('onComplete', 'onComplete')} ${part('onDead', 'onDead')}
    </details>`;
  }

  render() {
    const t = this.value ?? {};
    const errors = this.error?.errors;
    const schema = t.schema === null ? undefined : t.schema;
    return html`<form class="form" @submit=${this.save}>
      ${this.nameField()}
      <fieldset>
        <legend>Target</legend>
        <div class="fields">
          <c-target-fields is-type .value=${t.target ?? null} .errors=${errors}></c-target-fields>
        </div>
      </fieldset>
      <fieldset>
        <legend>Retries</legend>
        <div class="fields">${retryFields(t.retry, errors)}</div>
      </fieldset>
      ${this.#limits(t, errors)} ${this.#responses(t, errors)}
      <details ?open=${schema !== undefined}>
        <summary>Payload schema</summary>
        <div class="fields">
          ${field({
            name: '/schema',
            label: 'JSON Schema 2020-12',
            value: schema,
            kind: 'json',
            rows: 8,
            errors,
            hint: 'Tasks with an invalid payload are rejected on create and edit.',
          })}
        </div>
      </details>
      ${this.#callbacks(t, errors)} ${this.#signing(t, errors)} ${this.footer()}
    </form>`;
  }
}
customElements.define('c-type-form', TypeForm);
