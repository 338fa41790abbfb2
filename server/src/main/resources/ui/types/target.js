// Targets and retry policies: as text, and as fields of forms.

import { LitElement, html, nothing } from 'lit';
import { firstLine, plural, setDuration, visible } from '../format.js';
import { field } from '../parts/fields.js';

const KINDS = [
  ['http', 'HTTP request'],
  ['pull', 'Pull worker'],
  ['kafka', 'Kafka record'],
  ['rabbitmq', 'RabbitMQ message'],
  ['discard', 'No-op (completes immediately)'],
];

const METHODS = ['POST', 'PUT', 'PATCH', 'GET', 'DELETE'].map((each) => [each, each]);

const COMPLETE = [
  ['onReport', 'When the consumer reports'],
  ['onPublish', 'When the broker confirms'],
];

/** The kind of a target: http, pull, kafka, rabbitmq or discard. */
export const kindOf = (target) => Object.keys(target ?? {})[0] ?? null;

// The server hides the secrets of stored targets. This is for targets that were typed and are not saved yet.
const SECRET =
  /auth|cookie|token|secret|key|passw|passphrase|passc|pwd|sign|session|credential|jwt|bearer|otp|csrf|xsrf|hmac|\b(sig|pass|pw|pin|sid|sas)\b/i;
const SECRET_PARAMETER = /%|^code$/i; // an encoded name may be anything
const HIDDEN = '(hidden)';
const HEADER_CHARS = 256;

const shownParameter = (pair) => {
  const [name, ...value] = pair.split('=');
  return value.length > 0 && (SECRET.test(name) || SECRET_PARAMETER.test(name)) ? `${name}=${HIDDEN}` : pair;
};

/** A URL without user info, and without the values of parameters whose name looks secret. */
const shownUrl = (url) => {
  const [place, ...query] = url.split('?');
  const where = place.replace(/^([^/]*:\/\/)[^/]*@/, `$1${HIDDEN}@`);
  return query.length === 0 ? where : `${where}?${query.join('?').split('&').map(shownParameter).join('&')}`;
};

const WORDS = {
  http: ({ url, method }) => `${method ?? 'POST'} ${shownUrl(url)}`,
  pull: () => 'Pull worker',
  discard: () => 'No-op',
  kafka: ({ cluster, topic }) => `Kafka${cluster ? ` ${cluster}` : ''}: topic ${topic}`,
  rabbitmq: ({ cluster, exchange, routingKey }) =>
    `RabbitMQ${cluster ? ` ${cluster}` : ''}: ${exchange ? `exchange ${exchange}, ` : ''}${routingKey}`,
};

/** The headers of a target, a line each, without values whose name looks secret. */
export const shownHeaders = (target) =>
  Object.entries(target?.http?.headers ?? {}).map(
    ([name, value]) => `${visible(name)}: ${SECRET.test(name) ? HIDDEN : firstLine(value, HEADER_CHARS)}`,
  );

/** A target in one line of text. */
export const targetText = (target) => {
  const kind = kindOf(target);
  return kind === null ? 'From the type' : visible(WORDS[kind]?.(target[kind]) ?? kind);
};

/** The target of a type in one line of text. A type without a target pulls, unless its tasks have their own. */
export const typeTargetText = (target) =>
  (kindOf(target) ?? 'pull') === 'pull' ? 'Set per task, or pull worker' : targetText(target);

/** The delays between attempts. */
export const delaysText = ({ backoff, base, max }) =>
  backoff === 'fixed' ? `every ${setDuration(base)}` : `${backoff}, ${setDuration(base)} to ${setDuration(max)}`;

/** A retry policy in one line of text. */
export const retryText = (retry) => {
  if (!retry) return 'From the type';
  const { maxAttempts, maxAge } = retry;
  if (maxAttempts === 1) return '1 attempt';
  return `${plural(maxAttempts, 'attempt')}, ${delaysText(retry)}${
    maxAge ? `, up to ${setDuration(maxAge)} after due` : ''
  }`;
};

/** Fields of an HTTP target. */
const httpFields = (at, http, errors, required) => html`
  ${field({
    name: `${at}/url`,
    label: 'URL',
    value: http.url,
    errors,
    wide: true,
    required,
    placeholder: 'https://example.com/hook',
  })}
  ${field({ name: `${at}/method`, label: 'Method', value: http.method ?? 'POST', choices: METHODS, errors })}
  ${field({
    name: `${at}/timeout`,
    label: 'Timeout',
    value: http.timeout,
    kind: 'duration',
    errors,
    placeholder: 'from the type',
  })}
  ${field({
    name: `${at}/headers`,
    label: 'Headers',
    value: http.headers,
    kind: 'headers',
    rows: 2,
    errors,
    placeholder: 'Name: value',
    hint: '(hidden) keeps the stored value',
  })}
  ${field({
    name: `${at}/secretHeaders`,
    label: 'Secret headers',
    value: http.secretHeaders,
    kind: 'names',
    errors,
    placeholder: 'X-Name',
    hint: 'Headers whose values are hidden, besides those that look secret',
  })}
  ${field({
    name: `${at}/body`,
    label: 'Body',
    value: http.body,
    kind: 'raw',
    rows: 2,
    errors,
    placeholder: 'defaults to the payload',
  })}
`;

const depthFields = (at, value, errors, ofName, ofLabel) => html`
  ${field({
    name: `${at}/maxDepth`,
    label: 'Max queue depth',
    value: value.maxDepth,
    kind: 'number',
    min: 1,
    errors,
    placeholder: 'no limit',
  })}
  ${field({ name: `${at}/${ofName}`, label: ofLabel, value: value[ofName], errors })}
`;

const BROKER_FIELDS = {
  kafka: (at, value, errors, isType) => html`
    ${field({ name: `${at}/cluster`, label: 'Cluster', value: value.cluster, errors, placeholder: 'default cluster' })}
    ${field({ name: `${at}/topic`, label: 'Topic', value: value.topic, errors, required: true })}
    ${field({
      name: `${at}/complete`,
      label: 'Completes',
      value: value.complete ?? 'onReport',
      choices: COMPLETE,
      errors,
    })}
    ${isType ? depthFields(at, value, errors, 'group', 'Consumer group') : nothing}
  `,
  rabbitmq: (at, value, errors, isType) => html`
    ${field({ name: `${at}/cluster`, label: 'Cluster', value: value.cluster, errors, placeholder: 'default cluster' })}
    ${field({
      name: `${at}/exchange`,
      label: 'Exchange',
      value: value.exchange,
      errors,
      placeholder: 'default exchange',
    })}
    ${field({ name: `${at}/routingKey`, label: 'Routing key', value: value.routingKey, errors, required: true })}
    ${field({
      name: `${at}/complete`,
      label: 'Completes',
      value: value.complete ?? 'onReport',
      choices: COMPLETE,
      errors,
    })}
    ${isType ? depthFields(at, value, errors, 'queue', 'Queue') : nothing}
  `,
};

/** The fields of a target, by its kind. */
class TargetFields extends LitElement {
  static properties = {
    value: { attribute: false },
    at: { type: String },
    errors: { attribute: false },
    /** Of a type, which can limit the queue depth at a broker and always has a target. */
    isType: { type: Boolean, attribute: 'is-type' },
    kind: { state: true },
  };

  constructor() {
    super();
    /** @type {any} */
    this.value = undefined;
    /** @type {{pointer: string, code: string, detail: string}[] | undefined} */
    this.errors = undefined;
    this.isType = false;
    this.at = '/target';
    this.kind = null;
  }

  createRenderRoot() {
    return this;
  }

  willUpdate(changed) {
    if (changed.has('value')) this.kind = kindOf(this.value) ?? (this.isType ? 'pull' : '');
  }

  render() {
    const choices = this.isType ? KINDS : [['', 'From the type'], ...KINDS];
    const at = `${this.at}/${this.kind}`;
    const value = this.value?.[this.kind] ?? {};
    return html`
      ${field({
        // Not a pointer, so that it is not part of the body.
        name: `kind-of${this.at}`,
        label: 'Target',
        value: this.kind,
        choices,
        change: (e) => (this.kind = e.target.value),
        wide: true,
        hint: this.kind === '' ? 'No target on the type: waits for pull workers' : undefined,
      })}
      ${
        this.kind === 'pull' || this.kind === 'discard'
          ? html`<input type="hidden" name=${at} data-kind="json" value="{}" />`
          : nothing
      }
      ${this.kind === 'http' ? httpFields(at, value, this.errors, true) : nothing}
      ${BROKER_FIELDS[this.kind]?.(at, value, this.errors, this.isType) ?? nothing}
    `;
  }
}
customElements.define('c-target-fields', TargetFields);

const BACKOFF = [
  ['exponential', 'Exponential'],
  ['linear', 'Linear'],
  ['fixed', 'Fixed'],
];
const JITTER = [
  ['full', 'Full (0 to delay)'],
  ['equal', 'Equal (½ to full delay)'],
  ['none', 'None'],
];

/** The fields of a retry policy. */
export const retryFields = (retry, errors) => {
  const r = retry ?? {};
  return html`
    ${field({
      name: '/retry/maxAttempts',
      label: 'Max attempts',
      value: r.maxAttempts ?? 5,
      kind: 'number',
      min: 1,
      max: 100,
      errors,
    })}
    ${field({ name: '/retry/backoff', label: 'Backoff', value: r.backoff ?? 'exponential', choices: BACKOFF, errors })}
    ${field({ name: '/retry/base', label: 'Base delay', value: r.base ?? 'PT1S', kind: 'duration', errors })}
    ${field({ name: '/retry/max', label: 'Max delay', value: r.max ?? 'PT1H', kind: 'duration', errors })}
    ${field({ name: '/retry/jitter', label: 'Jitter', value: r.jitter ?? 'full', choices: JITTER, errors })}
    ${field({
      name: '/retry/maxAge',
      label: 'Max age',
      value: r.maxAge,
      kind: 'duration',
      errors,
      placeholder: 'no limit',
      hint: 'after the due time',
    })}
  `;
};

/** The fields of a callback, an optional HTTP target. */
export const callbackFields = (at, target, errors) => httpFields(`${at}/http`, target?.http ?? {}, errors, false);
