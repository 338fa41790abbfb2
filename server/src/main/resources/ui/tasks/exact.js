// Payloads as they were sent: a number that JavaScript would round keeps its digits.

import { api } from '../api.js';

const exactly = (_key, value, context) =>
  typeof value === 'number' && context?.source !== undefined && String(value) !== context.source
    ? JSON.rawJSON(context.source)
    : value;

/** JSON.parse that keeps numbers as they are written, where the browser can (JSON.rawJSON). */
export const parseExactly = (text) => JSON.parse(text, JSON.rawJSON ? exactly : undefined);

/** GET, read exactly. @returns {Promise<{data: any, etag: string|null}>} */
export const getExactly = async (path, { signal } = {}) => {
  const limit = AbortSignal.timeout(30_000);
  const answer = await api.open(path, { signal: signal ? AbortSignal.any([signal, limit]) : limit });
  return { data: parseExactly(await answer.text()), etag: answer.headers.get('ETag') };
};
