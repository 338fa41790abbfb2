// Calls of the API as commands for a shell.

import { api } from './api.js';

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * A call as a curl command. The key comes from the environment and is never shown.
 *
 * @param {string} method
 * @param {string} path
 * @param {unknown} [body]
 */
export const curl = (method, path, body) => {
  const lines = [method === 'GET' ? 'curl -sS' : `curl -sS -X ${method}`];
  lines.push(`-H "Authorization: Bearer $CARILLON_KEY"`);
  if (api.actsOn) lines.push(`-H ${quoted(`Carillon-Tenant: ${api.actsOn}`)}`);
  if (body !== undefined) {
    lines.push(`-H 'Content-Type: application/json'`, `-d ${quoted(JSON.stringify(body, null, 2))}`);
  }
  lines.push(quoted(location.origin + path));
  return lines.join(' \\\n  ');
};

/**
 * A curl command, or null if the key may not run it.
 *
 * @param {string} permission
 * @param {Parameters<typeof curl>} call
 */
export const curlIf = (permission, ...call) => (api.may(permission) ? curl(...call) : null);

/** A type for an example: one of the key's types if it is limited to some. */
export const ownType = (name) => (api.caller?.types?.length > 0 ? api.caller.types[0] : name);
