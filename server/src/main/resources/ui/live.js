// What happens, as it happens: one stream per tab, whoever listens.

import { api } from './api.js';

const HIDDEN = 60_000;
const SILENCE = 25_000; // the server says something every 10 s
const POLL = 10_000;
const AGAIN = 60_000; // after a refusal
const LONGEST_PAUSE = 30_000;
const LEARNT = 3_000; // by then every node knows that somebody watches
const LEFT_OUT = 5_000;

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

/** Splits a stream of server-sent events; the rest of an unfinished one is kept. */
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
 * Events: 'stats' (GET /v1/stats; the last one is told at once), 'task', 'more' (`{skipped}`),
 * 'state', and 'gap': something may have happened that no event told, so look again. There is one
 * after the stream has opened, after events were left out (at most every 5 s), and from time to
 * time where there is no stream.
 */
class Live {
  /**
   * 'polling' if the stream is refused, 'paused' while the tab is hidden.
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
    document.addEventListener('visibilitychange', () => this.#seen());
  }

  /**
   * @param {'stats' | 'task' | 'more' | 'state' | 'gap'} name
   * @param {(data: any) => void} fn
   * @returns {() => void} ends it
   */
  on(name, fn) {
    if (!this.#listeners.has(name)) this.#listeners.set(name, new Set());
    this.#listeners.get(name).add(fn);
    if (name === 'stats' && this.stats) fn(this.stats);
    return () => this.#listeners.get(name).delete(fn);
  }

  /**
   * Calls when there may be an answer where there was none.
   *
   * @param {() => void} fn
   * @returns {() => void} ends it
   */
  onReturn(fn) {
    const ends = [this.on('state', (state) => state === 'live' && fn()), this.on('gap', fn)];
    return () => ends.forEach((end) => end());
  }

  /** (Again) from nothing: another key or tenant. */
  start() {
    this.stop();
    this.#abort = new AbortController();
    this.#run(this.#abort.signal);
  }

  stop() {
    this.#abort?.abort();
    this.#abort = null;
    this.#noGap();
    this.stats = null;
    this.#become('offline');
  }

  #seen() {
    clearTimeout(this.#hidden);
    if (document.hidden) {
      this.#hidden = setTimeout(() => this.#pauseStream(), HIDDEN);
    } else if (this.state === 'paused') {
      this.start();
    }
  }

  #pauseStream() {
    if (this.#abort === null) return;
    this.#abort.abort();
    this.#noGap();
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
      const most = Math.min(LONGEST_PAUSE, 1000 * 2 ** (failures - 1));
      await pause(most / 2 + (Math.random() * most) / 2, signal);
    }
  }

  async #stream(signal, whenOpen) {
    const own = new AbortController();
    const give = () => own.abort();
    signal.addEventListener('abort', give, { once: true });
    let watch = setTimeout(give, SILENCE);
    try {
      const answer = await api.open('/v1/events', {
        headers: { Accept: 'text/event-stream' },
        signal: own.signal,
      });
      whenOpen();
      this.#become('live');
      this.#openedSince = this.#gap !== null;
      this.#gapIn(LEARNT);
      const parser = new EventParser();
      const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
      for (;;) {
        const { done, value } = await reader.read();
        if (done) return;
        clearTimeout(watch);
        watch = setTimeout(give, SILENCE);
        for (const { name, data } of parser.push(value)) {
          this.#tell(name, JSON.parse(data));
          if (name === 'more') this.#gapIn(LEFT_OUT);
        }
      }
    } finally {
      clearTimeout(watch);
      signal.removeEventListener('abort', give);
      own.abort();
    }
  }

  /** Too many streams, or a server that has none: look from time to time instead. */
  async #poll(signal) {
    const until = Date.now() + AGAIN;
    while (!signal.aborted && Date.now() < until) {
      const { data } = await api.get('/v1/stats', { signal }).catch(() => ({ data: null }));
      if (signal.aborted) return;
      this.#become(data ? 'polling' : 'offline');
      if (data) {
        this.#tell('stats', data);
        this.#tell('gap', null);
      }
      await pause(POLL, signal);
    }
  }

  /** One for all that is missed until then, and another if the stream was opened meanwhile. */
  #gapIn(ms) {
    this.#gap ??= setTimeout(() => {
      this.#gap = null;
      this.#tell('gap', null);
      if (this.#openedSince) this.#gapIn(LEARNT);
      this.#openedSince = false;
    }, ms);
  }

  #noGap() {
    this.#openedSince = false;
    clearTimeout(this.#gap);
    this.#gap = null;
  }

  #become(state) {
    if (this.state === state) return;
    this.state = state;
    this.#tell('state', state);
  }

  #tell(name, data) {
    if (name === 'stats') this.stats = data;
    for (const fn of [...(this.#listeners.get(name) ?? [])]) {
      try {
        fn(data);
      } catch (e) {
        console.error(e); // one page's mistake is not the stream's
      }
    }
  }
}

export const live = new Live();
