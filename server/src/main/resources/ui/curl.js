// Calls of the API as commands for a shell.

import { api } from './api.js';

const quoted = (text) => `'${text.replaceAll("'", "'\\''")}'`;

/**
 * The same call for a shell, with the key from the environment: it is never shown.
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
 * The same if the key may do it: nobody is taught a command that is refused.
 *
 * @param {string} permission
 * @param {Parameters<typeof curl>} call
 */
export const curlIf = (permission, ...call) => (api.may(permission) ? curl(...call) : null);

/** A type for an example: one of those that the key is limited to, if it is. */
export const ownType = (name) => (api.caller?.types?.length > 0 ? api.caller.types[0] : name);
