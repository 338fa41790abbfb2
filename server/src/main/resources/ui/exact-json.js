// Payloads keep their numbers as written: JavaScript would round large ones.

import { api } from './api.js';

const keep = (_key, value, context) =>
  typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
    ? JSON.rawJSON(context.source)
    : value;

/** Parses without rounding, in browsers that can. JSON.stringify then returns the numbers as they were. */
export const parseExact = (text) => JSON.parse(text, JSON.rawJSON ? keep : undefined);

/**
 * GET without rounding numbers, for values that are edited and sent back.
 *
 * @param {string} path
 * @param {{signal?: AbortSignal}} [options]
 */
export const getExact = async (path, { signal } = {}) => {
  const limit = AbortSignal.timeout(30_000);
  const response = await api.open(path, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
  return { data: parseExact(await response.text()), etag: response.headers.get('ETag') };
};
