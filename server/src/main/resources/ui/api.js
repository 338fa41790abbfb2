// Every call to the server goes through here: adds the key and the tenant, turns errors into Problems.

const KEY = 'carillon.key';
const TENANT = 'carillon.tenant';
const TENANT_NAME = /^[a-z0-9][a-z0-9-]{0,62}$/;
const REQUEST_TIMEOUT = 30_000;

/**
 * @typedef {object} CallOptions
 * @property {AbortSignal} [signal]
 * @property {Record<string, string>} [headers]
 * @property {string | null} [ifMatch] the ETag that must still hold
 *
 * @typedef {{data: any, etag: string | null, status: number}} Reply
 */

/** An error of the server or of the network. */
export class Problem extends Error {
  /**
   * @param {number} status 0 if there was no response
   * @param {any} [body] the problem as the API describes it
   */
  constructor(status, body = {}) {
    super(body.detail ?? body.title ?? `HTTP ${status}`);
    this.status = status;
    this.code = body.code ?? '';
    this.title = body.title ?? (status ? `Request failed (HTTP ${status})` : 'Cannot reach the server');
    this.detail = body.detail ?? '';
    /** @type {{pointer: string, code: string, detail: string}[]} */
    this.errors = Array.isArray(body.errors) ? body.errors : [];
    this.requestId = body.requestId ?? '';
  }
}

/** Whether the same call may succeed soon: the server was unreachable or overloaded. */
export const isTransient = (e) => e?.status === 0 || e?.status === 429 || e?.status >= 500;

/** Whether repeating the call is pointless: not found, or not allowed for this key. */
export const isFinal = (e) => e?.status === 403 || e?.status === 404;

/** Explains a 412 to the user of a form; other errors are returned unchanged. */
export const stale = (e, next) =>
  e.status === 412 ? new Problem(412, { title: 'Changed by someone else', detail: `Nothing was saved. ${next}` }) : e;

/**
 * A path with encoded values: path`/v1/tasks/${id}`.
 *
 * @param {TemplateStringsArray} strings
 * @param {...(string | number)} values
 */
export const path = (strings, ...values) =>
  strings.reduce((text, part, i) => text + encodeURIComponent(values[i - 1]) + part);

/**
 * The query of a URL from an object or URLSearchParams; empty values are left out.
 *
 * @param {URLSearchParams | Record<string, any>} [query]
 */
export const search = (query = {}) => {
  const entries = query instanceof URLSearchParams ? [...query] : Object.entries(query);
  const kept = entries.filter(([, value]) => value !== undefined && value !== null && value !== '');
  return kept.length > 0 ? `?${new URLSearchParams(kept)}` : '';
};

/**
 * Dispatches 'changed' after a sign-in, a sign-out or a switch of the tenant, and 'tenants' when the
 * list of tenants has changed.
 *
 * Calls return `{data, etag, status}` or throw a Problem.
 */
class Api extends EventTarget {
  #key = sessionStorage.getItem(KEY);
  #tenant = sessionStorage.getItem(TENANT) ?? '';
  /** @type {Promise<any> | null} */
  #me = null;
  /**
   * The caller as GET /v1/me returned it last; null before.
   *
   * @type {any}
   */
  caller = null;
  /** Why the user was signed out, for the sign-in page. */
  signOutReason = '';

  get signedIn() {
    return this.#key !== null;
  }

  /** The current tenant. */
  get tenant() {
    return this.#tenant || this.caller?.tenant || '';
  }

  set tenant(name) {
    this.#tenant = name;
    this.#me = null;
    sessionStorage.setItem(TENANT, name);
    this.#changed();
  }

  /** The tenant that was chosen, for the header Carillon-Tenant; empty if none was. */
  get actsOn() {
    return this.#tenant;
  }

  /** Throws a Problem unless the tenant exists and the key has access to it. */
  async requireTenant(name) {
    if (!TENANT_NAME.test(name)) throw new Problem(404);
    await this.#call('GET', '/v1/me', undefined, { headers: { 'Carillon-Tenant': name } });
  }

  /** Signs in if the server accepts the key, which is kept in this tab only. */
  async signIn(key) {
    this.#key = key;
    this.#tenant = '';
    sessionStorage.removeItem(TENANT);
    try {
      await this.me(true);
    } catch (e) {
      this.#key = null;
      this.signOutReason = '';
      throw e;
    }
    sessionStorage.setItem(KEY, key);
    this.signOutReason = '';
    this.#changed();
  }

  signOut(signOutReason = '') {
    if (!this.signedIn) return;
    this.#key = null;
    this.#me = null;
    this.#tenant = '';
    this.caller = null;
    this.signOutReason = signOutReason;
    sessionStorage.removeItem(KEY);
    sessionStorage.removeItem(TENANT);
    this.#changed();
  }

  /** GET /v1/me, once. */
  me(again = false) {
    if (again || this.#me === null) {
      this.#me = this.get('/v1/me').then(
        ({ data }) => (this.caller = data),
        (e) => {
          this.#me = null;
          if (e.status === 404 && this.#tenant) this.tenant = ''; // the tenant was deleted
          throw e;
        },
      );
    }
    return this.#me;
  }

  /** @param {string} permission */
  may(permission) {
    return this.caller?.permissions?.includes(permission) ?? false;
  }

  /**
   * @param {string} path
   * @param {{query?: URLSearchParams | Record<string, any>, signal?: AbortSignal}} [options]
   */
  get(path, { query, signal } = {}) {
    return this.#call('GET', path + search(query), undefined, { signal });
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @param {CallOptions} [options]
   */
  post(path, body, options) {
    return this.#call('POST', path, body, options);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @param {CallOptions} [options]
   */
  put(path, body, options) {
    return this.#call('PUT', path, body, options);
  }

  /**
   * @param {string} path
   * @param {unknown} [body]
   * @param {CallOptions} [options]
   */
  patch(path, body, options) {
    return this.#call('PATCH', path, body, options);
  }

  /**
   * @param {string} path
   * @param {CallOptions} [options]
   */
  del(path, options) {
    return this.#call('DELETE', path, undefined, options);
  }

  /**
   * The response itself, for streams; throws a Problem unless it is a success.
   *
   * @param {string} path
   * @param {{method?: string, body?: unknown, headers?: Record<string, string>, signal?: AbortSignal}} [options]
   * @returns {Promise<Response>}
   */
  async open(path, { method = 'GET', body, headers = {}, signal } = {}) {
    const chosen = this.#tenant ? { 'Carillon-Tenant': this.#tenant } : {};
    /** @type {Record<string, string>} */
    const all = { Authorization: `Bearer ${this.#key}`, ...chosen, ...headers };
    if (body !== undefined) all['Content-Type'] = 'application/json';
    let response;
    try {
      response = await fetch(path, {
        method,
        headers: all,
        body: body === undefined ? undefined : JSON.stringify(body),
        signal,
        cache: 'no-store',
        credentials: 'omit',
        redirect: 'error',
      });
    } catch (e) {
      if (signal?.aborted && e.name === 'AbortError') throw e;
      const timedOut = e.name === 'TimeoutError';
      throw new Problem(0, {
        code: 'unreachable',
        detail: timedOut ? 'The request timed out.' : 'Check that the server is running and that you are online.',
      });
    }
    if (response.ok) return response;
    const problem = new Problem(response.status, await response.json().catch(() => ({})));
    if (response.status === 401) {
      this.signOut('This API key is invalid, expired or revoked. Sign in again.');
    }
    throw problem;
  }

  /**
   * @param {string} method
   * @param {string} path
   * @param {unknown} body
   * @param {CallOptions} [options]
   * @returns {Promise<Reply>}
   */
  async #call(method, path, body, { ifMatch, signal, headers = {} } = {}) {
    const limit = AbortSignal.timeout(REQUEST_TIMEOUT);
    const response = await this.open(path, {
      method,
      body,
      headers: ifMatch ? { ...headers, 'If-Match': ifMatch } : headers,
      signal: signal ? AbortSignal.any([signal, limit]) : limit,
    });
    const text = await response.text();
    return {
      data: text === '' ? null : JSON.parse(text),
      etag: response.headers.get('ETag'),
      status: response.status,
    };
  }

  #changed() {
    this.dispatchEvent(new Event('changed'));
  }
}

export const api = new Api();
