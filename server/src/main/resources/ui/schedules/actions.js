// The actions on a schedule: pause, resume, trigger, delete. Each asks for confirmation.

import { html } from 'lit';
import { api, path } from '../api.js';
import { parseExact } from '../exact-json.js';
import { ask, confirmDelete } from '../parts.js';

const at = (name) => path`/v1/schedules/${name}`;

/** @returns {Promise<boolean>} whether it was done */
export const pause = async (name) =>
  (await ask({
    title: `Pause ${name}?`,
    body: html`<p>Runs are recorded as skipped while paused. Tasks already created continue.</p>
      <label
        >Reason <input name="reason" maxlength="500" autocomplete="off" placeholder="visible to everyone"
      /></label>`,
    action: 'Pause',
    submit: (form) => {
      const reason = /** @type {string} */ (form.get('reason')).trim();
      return api.post(`${at(name)}/pause`, reason ? { reason } : undefined);
    },
  })) !== null;

/** @returns {Promise<boolean>} whether it was done */
export const resume = async (name) =>
  (await ask({
    title: `Resume ${name}?`,
    body: 'Runs resume from now. Runs missed while paused are not created; use a backfill for those.',
    action: 'Resume',
    submit: () => api.post(`${at(name)}/resume`),
  })) !== null;

/** @returns {Promise<any>} the task, or null */
export const trigger = (name) =>
  ask({
    title: `Trigger ${name} now?`,
    body: html`<p>Creates one task now, ignoring the schedule, the overlap policy and any pause.</p>
      <label
        >Payload (JSON)
        <textarea name="payload" rows="3" class="code" spellcheck="false" placeholder="from the schedule"></textarea>
      </label>`,
    action: 'Trigger',
    submit: async (form) => {
      const text = /** @type {string} */ (form.get('payload')).trim();
      return (await api.post(`${at(name)}/trigger`, text ? { payload: parseExact(text) } : undefined)).data;
    },
  });

/** @returns {Promise<boolean>} whether it is gone */
export const remove = (name, etag) =>
  confirmDelete({
    name,
    body: 'Planned tasks are cancelled; due and running tasks continue. The run history is deleted.',
    submit: () => api.del(at(name), { ifMatch: etag }),
  });
