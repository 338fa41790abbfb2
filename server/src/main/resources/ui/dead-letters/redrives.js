// Redrives and purges: their dialogs, and the list of redrives with stop and undo.

import { LitElement, html, nothing } from 'lit';
import { api, path } from '../api.js';
import { ago, badge, count, firstLine, plural, time, visible } from '../format.js';
import { PagedList, ask, confirm, empty, loading, problem, toast } from '../parts.js';

const STATES = {
  RUNNING: ['running', '▶', 'Running'],
  DONE: ['ok', '✓', 'Done'],
  STOPPED: ['warn', '■', 'Stopped'],
  UNDOING: ['running', '↩', 'Undoing'],
  UNDONE: ['off', '↩', 'Undone'],
};

const letters = (n, atLeast) => `${atLeast ? 'at least ' : ''}${plural(n, 'dead letter')}`;

const undo = async (id) => {
  const { data } = await api.post(path`/v1/redrives/${id}/undo`);
  toast(`${plural(data.undone, 'task')} returned to dead letters; tasks already started continue`);
};

/** Shows the count, asks for a rate and starts it. @returns {Promise<object|null>} the redrive */
export const redriveDialog = async (body) => {
  const { data: dry } = await api.post('/v1/dead-letters/redrive', { ...body, dryRun: true });
  if (dry.matched === 0) {
    toast('No matching dead letters left');
    return null;
  }
  const started = await ask({
    title: `Redrive ${letters(dry.matched, dry.atLeast)}?`,
    body: html`
      <p>
        Resets the attempts of each task and queues it again. The history is kept. Tasks that fail after the redrive
        starts are not included.
      </p>
      <label
        >Rate limit (tasks/s)
        <input type="number" name="rate" min="1" max="10000" placeholder="unlimited" inputmode="numeric" />
        <small>Protects a recovering target. You can stop a rate-limited redrive at any time.</small>
      </label>
    `,
    action: 'Redrive',
    submit: async (form) => {
      const rate = Number(form.get('rate'));
      return (await api.post('/v1/dead-letters/redrive', rate > 0 ? { ...body, rate } : body)).data;
    },
  });
  if (started === null) return null;
  const text = started.status === 'DONE' ? `${plural(started.redriven, 'task')} redriven` : 'Redrive started';
  toast(text, { undo: () => undo(started.id) });
  return started;
};

/** Deletes dead letters after the user typed a word. @returns {Promise<boolean>} whether anything was deleted */
export const purgeDialog = async (body) => {
  const { data: dry } = await api.post('/v1/dead-letters/purge', { ...body, dryRun: true });
  if (dry.matched === 0) {
    toast('No matching dead letters left');
    return false;
  }
  let purged = 0; // over all calls
  let more = true;
  const done = await ask({
    title: `Permanently delete ${letters(dry.matched, dry.atLeast)}?`,
    body: 'The tasks, their payloads and their history are deleted. This cannot be undone.',
    action: `Delete ${letters(dry.matched, dry.atLeast)}`,
    danger: true,
    typed: 'purge',
    stoppable: true,
    submit: async (_form, signal, report) => {
      while (more && !signal.aborted) {
        const { data } = await api.post('/v1/dead-letters/purge', body);
        purged += data.purged;
        more = data.more === true && data.purged > 0;
        report(`${count(purged)} deleted so far`);
      }
    },
  });
  if (done === null && purged === 0) return false;
  toast(`${plural(purged, 'dead letter')} deleted${more ? '; stopped early' : ''}`);
  return true;
};

/** A filter of dead letters as text; a group is named by its error. */
const filterText = ({ filter, groupError }) => {
  const parts = Object.entries(filter ?? {}).map(([name, value]) => {
    if (name === 'ids') return `${count(value.length ?? value)} selected by ID`;
    if (name === 'all') return 'all';
    if (name === 'metadata') {
      return Object.entries(value)
        .map(([key, each]) => `${visible(key)} = ${visible(each)}`)
        .join(', ');
    }
    if (name === 'group' && groupError) return `“${firstLine(groupError, 120)}”`;
    return `${visible(name)} ${visible(value)}`;
  });
  return parts.length > 0 ? parts.join(', ') : 'all';
};

/** <c-redrives>: the list of redrives, refreshed every second while one is running. */
class Redrives extends LitElement {
  static properties = { busy: { state: true }, error: { state: true } };

  #pages = new PagedList(this, async (cursor, signal) => {
    const { data } = await api.get('/v1/redrives', { query: { cursor: cursor ?? '', limit: 20 }, signal });
    return data;
  });
  #timer = null;

  constructor() {
    super();
    this.busy = '';
    this.error = null;
  }

  createRenderRoot() {
    return this;
  }

  connectedCallback() {
    super.connectedCallback();
    this.#pages.first();
    let ticks = 0;
    this.#timer = setInterval(() => {
      const moving = this.#pages.items.some((each) => each.status === 'RUNNING' || each.status === 'UNDOING');
      if (!document.hidden && !this.#pages.busy && !this.#pages.isRefused && (moving || ++ticks % 10 === 0))
        this.#pages.reload();
    }, 1_000);
  }

  disconnectedCallback() {
    super.disconnectedCallback();
    clearInterval(this.#timer);
  }

  async #act(id, action) {
    this.busy = id;
    this.error = null;
    try {
      await action();
    } catch (e) {
      this.error = e;
    }
    this.busy = '';
    this.#pages.reload();
  }

  async #undo(redrive) {
    const sure = await confirm({
      title: 'Undo this redrive?',
      body: 'Tasks that have not started yet return to the dead letters unchanged. Tasks that have started continue.',
      action: 'Undo redrive',
      danger: true,
    });
    if (sure) await this.#act(redrive.id, () => undo(redrive.id));
  }

  render() {
    const pages = this.#pages;
    if (!pages.ready && !pages.error) return loading();
    if (pages.ready && pages.items.length === 0 && !pages.hasBack) {
      return empty({
        title: 'No redrives in the last 7 days',
        text: 'Redrives appear here. You can follow, stop and undo them.',
      });
    }
    return html`
      ${problem(pages.error)} ${problem(this.error)}
      <div class="table" tabindex="0" role="region" aria-label="Redrives">
        <table>
          <thead>
            <tr>
              <th scope="col">Status</th>
              <th scope="col">Filter</th>
              <th scope="col">Progress</th>
              <th scope="col">Rate</th>
              <th scope="col">Started</th>
              <th scope="col"><span class="unseen">Actions</span></th>
            </tr>
          </thead>
          <tbody>
            ${pages.items.map((each) => this.#row(each))}
          </tbody>
        </table>
      </div>
      <c-pager .pages=${pages}></c-pager>
    `;
  }

  #row(redrive) {
    const { id, matched, redriven, refused, undone, waiting } = redrive;
    const can = api.may('TASKS_OPERATE');
    const over = redrive.status === 'UNDONE' || redrive.status === 'UNDOING';
    return html`<tr>
      <td>${badge(...(STATES[redrive.status] ?? ['off', '·', redrive.status]))}</td>
      <td data-label="Filter">${filterText(redrive)}</td>
      <td data-label="Progress" class="how-far">
        <small
          >${count(redriven)} of
          ${redrive.atLeast ? 'at least ' : ''}${count(Math.max(matched, redriven))}${
            waiting > 0 ? `, ${count(waiting)} waiting` : ''
          }${refused > 0 ? `, ${count(refused)} skipped` : ''}${undone > 0 ? `, ${count(undone)} undone` : ''}</small
        >
        <progress class="bar" max=${Math.max(matched, redriven, 1)} value=${redriven} aria-label="Redriven"></progress>
      </td>
      <td data-label="Rate">${redrive.rate ? `${count(redrive.rate)}/s` : 'Unlimited'}</td>
      <td data-label="Started">
        ${ago(redrive.createdAt)} <small>by ${visible(redrive.by)}</small>${
          redrive.endedAt ? html`<br /><small>finished ${time(redrive.endedAt)}</small>` : nothing
        }
      </td>
      <td>
        <div class="row">
          ${
            can && redrive.status === 'RUNNING'
              ? html`<button
                  type="button"
                  class="small outline"
                  ?disabled=${this.busy !== ''}
                  @click=${() => this.#act(id, () => api.post(path`/v1/redrives/${id}/stop`))}
                >
                  Stop
                </button>`
              : nothing
          }
          ${
            can && !over
              ? html`<button
                  type="button"
                  class="small outline"
                  ?disabled=${this.busy !== ''}
                  @click=${() => this.#undo(redrive)}
                >
                  Undo
                </button>`
              : nothing
          }
        </div>
      </td>
    </tr>`;
  }
}
customElements.define('c-redrives', Redrives);
