// JSON of tenants is theirs: a number that JavaScript would round is kept as it was written.

import { api } from './api.js';

const keep = (_key, value, context) =>
  typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
    ? JSON.rawJSON(context.source)
    : value;

/** Parses without rounding, where the browser can. JSON.stringify gives back what it got. */
export const parseExact = (text) => JSON.parse(text, JSON.rawJSON ? keep : undefined);

/**
 * GET with its numbers as they were written: for what is edited and sent back.
 *
 * @param {string} path
 * @param {{signal?: AbortSignal}} [options]
 */
export const getExact = async (path, { signal } = {}) => {
  const limit = AbortSignal.timeout(30_000);
  const answer = await api.open(path, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
  return { data: parseExact(await answer.text()), etag: answer.headers.get('ETag') };
};
