// The filter of the list of tasks: read from the address, sent to the API, shown to the user.

import { visible } from '../format.js';

export const STATUSES = ['PENDING', 'RUNNING', 'COMPLETED', 'DEAD', 'CANCELLED', 'EXPIRED'];
const PLAIN = ['type', 'status', 'key', 'schedule', 'dueAfter', 'dueBefore', 'error'];
const METADATA = 'metadata.';
const ID = /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/i;

const LABELS = {
  type: 'type',
  key: 'key',
  schedule: 'schedule',
  dueAfter: 'due after',
  dueBefore: 'due before',
  error: 'error contains',
};

/**
 * A filter read from an address. Unknown names are ignored; invalid values are left for the API to
 * reject, because ignoring them would show tasks that the URL does not ask for.
 */
export class Filter {
  /** @param {URLSearchParams} query */
  constructor(query) {
    /** @type {Record<string, string>} */
    this.values = {};
    /** @type {Record<string, string>} */
    this.metadata = {};
    for (const [name, value] of query) {
      if (value === '') continue;
      if (PLAIN.includes(name)) this.values[name] = value;
      else if (name.startsWith(METADATA)) this.metadata[name.slice(METADATA.length)] = value;
    }
  }

  get status() {
    return this.values.status ?? '';
  }

  /**
   * For the address, and for GET /v1/tasks.
   *
   * @param {Record<string, string>} [changes]
   * @returns {Record<string, string>}
   */
  query(changes = {}) {
    const all = { ...this.values };
    for (const [name, value] of Object.entries(this.metadata)) all[METADATA + name] = value;
    return { ...all, ...changes };
  }

  /** Dead letters have an index of their own, but without schedules and due times. */
  get isOfDeadLetters() {
    const { schedule, dueAfter, dueBefore } = this.values;
    return this.status === 'DEAD' && !schedule && !dueAfter && !dueBefore;
  }

  /** The path and the query of the call. */
  get request() {
    const { status, ...rest } = this.query();
    return this.isOfDeadLetters
      ? { path: '/v1/dead-letters', query: rest }
      : { path: '/v1/tasks', query: { status, ...rest } };
  }

  /** The body of a bulk cancel or run; null if it would select every task. */
  get body() {
    /** @type {Record<string, any>} */
    const body = { ...this.values };
    if (Object.keys(this.metadata).length > 0) body.metadata = this.metadata;
    return Object.keys(body).length > 0 ? body : null;
  }

  /** The body of a bulk redrive. */
  get letters() {
    const { status: _, ...rest } = this.body ?? {};
    return Object.keys(rest).length > 0 ? rest : { all: true };
  }

  /** `[name in the address, text]` of every filter but the status. */
  chips(timeText) {
    const chips = Object.entries(this.values)
      .filter(([name]) => name !== 'status')
      .map(([name, value]) => [name, `${LABELS[name]} ${name.startsWith('due') ? timeText(value) : visible(value)}`]);
    for (const [name, value] of Object.entries(this.metadata)) {
      chips.push([METADATA + name, `${visible(name)} = ${visible(value)}`]);
    }
    return chips;
  }

  /** Whether a task of the stream may match; the stream has its type and status only. */
  mayMatch(event) {
    const { type } = this.values;
    return (!type || type === event.type) && (!this.status || this.status === event.to);
  }
}

/** Parses the search box: an id, name=value of the metadata, or a key. */
export const parseSearch = (text) => {
  const typed = text.trim();
  if (ID.test(typed)) return { id: typed.toLowerCase() };
  const [, name, value] = /^([^=\s]+)=(.+)$/s.exec(typed) ?? [];
  return name ? { query: { [METADATA + name]: value } } : { query: { key: typed } };
};
