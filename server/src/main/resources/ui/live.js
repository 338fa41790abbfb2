// The event stream of the server: one per tab, shared by all listeners.

import { api } from './api.js';

const HIDDEN_TIMEOUT = 60_000;
const SILENCE_TIMEOUT = 25_000; // the server sends a keep-alive every 10 s
const POLL_INTERVAL = 10_000;
const RETRY_STREAM_AFTER = 60_000; // when the stream was rejected
const MAX_RECONNECT_DELAY = 30_000;
const GAP_AFTER_OPEN = 3_000; // by then every node knows that there is a listener
const GAP_AFTER_SKIP = 5_000;

/**
 * @param {number} ms
 * @param {AbortSignal} signal
 * @returns {Promise<void>}
 */
const pause = (ms, signal) =>
  new Promise((done) => {
    const timer = setTimeout(done, ms);
    signal.addEventListener('abort', () => (clearTimeout(timer), done()), { once: true });
  });

/** Splits a stream into server-sent events; an unfinished one is kept for the next chunk. */
class EventParser {
  #rest = '';

  /**
   * @param {string} text
   * @returns {{name: string, data: string}[]}
   */
  push(text) {
    const parts = (this.#rest + text).replaceAll('\r\n', '\n').split('\n\n');
    this.#rest = parts.pop();
    return parts.map((part) => EventParser.#event(part)).filter((event) => event.data !== '');
  }

  static #event(part) {
    let name = 'message';
    const data = [];
    for (const line of part.split('\n')) {
      if (line.startsWith('event:')) name = line.slice(6).trim();
      if (line.startsWith('data:')) data.push(line.slice(5).trimStart());
    }
    return { name, data: data.join('\n') };
  }
}

/**
 * Events: 'stats' (GET /v1/stats; a new listener gets the last one at once), 'task', 'more'
 * (`{skipped}`), 'state', and 'gap': events may be missing, so refresh. A gap follows the opening of
 * the stream, skipped events (at most every 5 s), and every poll where there is no stream.
 */
class Live {
  /**
   * 'polling' if the stream is rejected, 'paused' while the tab is hidden.
   *
   * @type {'live' | 'polling' | 'reconnecting' | 'paused' | 'offline'}
   */
  state = 'offline';
  /**
   * The last stats, or null.
   *
   * @type {any}
   */
  stats = null;
  /** @type {Map<string, Set<(data: any) => void>>} */
  #listeners = new Map();
  /** @type {AbortController | null} */
  #abort = null;
  #hidden = null;
  #gap = null;
  #openedSince = false;

  constructor() {
    document.addEventListener('visibilitychange', () => this.#onVisibility());
  }

  /**
   * @param {'stats' | 'task' | 'more' | 'state' | 'gap'} name
   * @param {(data: any) => void} fn
   * @returns {() => void} stops listening
   */
  on(name, fn) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(fn);
    if (name === 'stats' && this.stats) fn(this.stats);
    return () => this.#listeners.get(name).delete(fn);
  }

  /**
   * Calls `fn` when calls that failed may succeed again.
   *
   * @param {() => void} fn
   * @returns {() => void} stops listening
   */
  onReturn(fn) {
    const ends = [this.on('state', (state) => state === 'live' && fn()), this.on('gap', fn)];
    return () => ends.forEach((end) => end());
  }

  /** Starts, or starts over with another key or tenant. */
  start() {
    this.stop();
    this.#abort = new AbortController();
    this.#run(this.#abort.signal);
  }

  stop() {
    this.#abort?.abort();
    this.#abort = null;
    this.#clearGap();
    this.stats = null;
    this.#become('offline');
  }

  #onVisibility() {
    clearTimeout(this.#hidden);
    if (document.hidden) {
      this.#hidden = setTimeout(() => this.#pauseStream(), HIDDEN_TIMEOUT);
    } else if (this.state === 'paused') {
      this.start();
    }
  }

  #pauseStream() {
    if (this.#abort === null) return;
    this.#abort.abort();
    this.#clearGap();
    this.#become('paused');
  }

  async #run(signal) {
    let failures = 0;
    while (!signal.aborted) {
      this.#become(failures === 0 ? 'reconnecting' : this.state);
      try {
        await this.#stream(signal, () => (failures = 0));
        failures = Math.max(1, failures);
      } catch (e) {
        if (signal.aborted) return;
        failures++;
        if (e.status) await this.#poll(signal);
      }
      if (signal.aborted) return;
      this.#become(failures > 3 ? 'offline' : 'reconnecting');
      const max = Math.min(MAX_RECONNECT_DELAY, 1000 * 2 ** (failures - 1));
      await pause(max / 2 + (Math.random() * max) / 2, signal);
    }
  }

  async #stream(signal, onOpen) {
    const own = new AbortController();
    const giveUp = () => own.abort();
    signal.addEventListener('abort', giveUp, { once: true });
    let watch = setTimeout(giveUp, SILENCE_TIMEOUT);
    try {
      const response = await api.open('/v1/events', {
        headers: { Accept: 'text/event-stream' },
        signal: own.signal,
      });
      onOpen();
      this.#become('live');
      this.#openedSince = this.#gap !== null;
      this.#gapIn(GAP_AFTER_OPEN);
      const parser = new EventParser();
      const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(giveUp, SILENCE_TIMEOUT);
        for (const { name, data } of parser.push(value)) {
          this.#emit(name, JSON.parse(data));
          if (name === 'more') this.#gapIn(GAP_AFTER_SKIP);
        }
      }
    } finally {
      clearTimeout(watch);
      signal.removeEventListener('abort', giveUp);
      own.abort();
    }
  }

  /** Polls where the server rejects the stream, such as when there are too many. */
  async #poll(signal) {
    const until = Date.now() + RETRY_STREAM_AFTER;
    while (!signal.aborted && Date.now() < until) {
      const { data } = await api.get('/v1/stats', { signal }).catch(() => ({ data: null }));
      if (signal.aborted) return;
      this.#become(data ? 'polling' : 'offline');
      if (data) {
        this.#emit('stats', data);
        this.#emit('gap', null);
      }
      await pause(POLL_INTERVAL, signal);
    }
  }

  /** One gap for everything missed until then, and another if the stream was opened meanwhile. */
  #gapIn(ms) {
    this.#gap ??= setTimeout(() => {
      this.#gap = null;
      this.#emit('gap', null);
      if (this.#openedSince) this.#gapIn(GAP_AFTER_OPEN);
      this.#openedSince = false;
    }, ms);
  }

  #clearGap() {
    this.#openedSince = false;
    clearTimeout(this.#gap);
    this.#gap = null;
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.#emit('state', state);
  }

  #emit(name, data) {
    if (name === 'stats') this.stats = data;
    for (const fn of [...(this.#listeners.get(name) ?? [])]) {
      try {
        fn(data);
      } catch (e) {
        console.error(e); // an error of one listener must not stop the stream
      }
    }
  }
}

export const live = new Live();
