// JSON of tenants is theirs: a number that JavaScript would round is kept as it was written.

import { api } from '../api.js';

const keep = (key, value, context) =>
  typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
    ? JSON.rawJSON(context.source)
    : value;

/** Parses without rounding, where the browser can. JSON.stringify gives back what it got. */
export const parseExact = (text) =>
  typeof JSON.rawJSON === 'function' ? JSON.parse(text, keep) : JSON.parse(text);

/** GET with its numbers as they were written: for what is edited and sent back. */
export const getExact = async (path) => {
  const answer = await api.open(path, { signal: AbortSignal.timeout(30_000) });
  return { data: parseExact(await answer.text()), etag: answer.headers.get('ETag') };
};
