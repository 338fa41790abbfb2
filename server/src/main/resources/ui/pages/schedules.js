// #/schedules: every schedule with its next and its recent runs. ?new=1 is the form for a new one.

import { html, nothing } from 'lit';
import { api } from '../api.js';
import { curlIf, ownType } from '../curl.js';
import { ago, firstLine, setDuration, visible } from '../format.js';
import { PagedList, empty, loading, problem } from '../parts.js';
import { Page } from '../page.js';
import { go, href } from '../router.js';
import { isOver, localText, miniStrip, outcomeBadge } from '../schedules/fires.js';
import { statusBadge } from '../schedules/details.js';
import '../schedules/schedule-form.js';

const FIRES = 14;
const PER_PAGE = 50;
const REFRESH_INTERVAL = 30_000;

const FIRST = { cron: '0 9 * * MON-FRI', timezone: 'Europe/Berlin', type: 'hello', target: { discard: {} } };

const matches = (schedule, text) => {
  const wanted = text.trim().toLowerCase();
  return [schedule.name, schedule.type, schedule.description, schedule.cron, schedule.status, schedule.timezone].some(
    (each) => each?.toLowerCase().includes(wanted),
  );
};

class SchedulesPage extends Page {
  static properties = { filter: { state: true } };

  constructor() {
    super();
    this.filter = '';
    this.pages = new PagedList(this, async (cursor, signal) => {
      const query = { limit: PER_PAGE, fires: FIRES, cursor };
      return (await api.get('/v1/schedules', { query, signal })).data;
    });
  }

  get heading() {
    return this.#isNew ? 'New schedule' : 'Schedules';
  }

  get #isNew() {
    return this.query.has('new') && api.may('SCHEDULES_CONFIGURE');
  }

  connectedCallback() {
    super.connectedCallback();
    this.every(REFRESH_INTERVAL, () => this.#isNew || this.pages.isRefused || this.pages.reload());
  }

  async load() {
    if (!this.#isNew) await this.pages.first();
  }

  #row(schedule) {
    const last = schedule.fires?.find((fire) => isOver(fire) && fire.reason !== 'ended');
    const next = schedule.nextRun;
    return html`<tr>
      <th scope="row">
        <div>
          <a href=${href('schedules', schedule.name)}><strong>${schedule.name}</strong></a>
          <div>${schedule.description ?? html`<span class="wrong">not supported by this version</span>`}</div>
          <small
            ><code>${schedule.cron ?? setDuration(schedule.every)}</code>
            ${schedule.cron ? schedule.timezone : ''}</small
          >
        </div>
      </th>
      <td data-label="Type" class="kind"><a href=${href('types', schedule.type)}>${schedule.type}</a></td>
      <td data-label="Next run" class="when">
        ${
          next && !schedule.paused
            ? html`<div>
                ${ago(next.at)}<br /><small title=${next.note ?? ''}
                  >${localText(next.local)}${next.note ? ' *' : ''}</small
                >
              </div>`
            : html`<span class="muted">–</span>`
        }
      </td>
      <td data-label="Recent runs">${miniStrip(schedule.fires)}</td>
      <td data-label="Last run">${last ? outcomeBadge(last) : html`<span class="muted">–</span>`}</td>
      <td data-label="Status">
        <div>
          ${statusBadge(schedule)}
          ${
            schedule.pausedReason
              ? html`<br /><small class="clip">${firstLine(schedule.pausedReason, 80)}</small>`
              : nothing
          }
        </div>
      </td>
    </tr>`;
  }

  #table() {
    const { pages } = this;
    const shown = this.filter ? pages.items.filter((each) => matches(each, this.filter)) : pages.items;
    return html`
      <div class="table">
        <table>
          <thead>
            <tr>
              ${['Schedule', 'Type', 'Next run', 'Recent runs', 'Last run', 'Status'].map(
                (text) => html`<th scope="col">${text}</th>`,
              )}
            </tr>
          </thead>
          <tbody>
            ${shown.map((schedule) => this.#row(schedule))}
          </tbody>
        </table>
      </div>
      ${
        shown.length === 0
          ? html`<p class="muted">No schedule on this page matches “${visible(this.filter)}”.</p>`
          : nothing
      }
      <c-pager .pages=${pages}></c-pager>
    `;
  }

  #list() {
    const { pages } = this;
    if (!pages.ready) return pages.error ? nothing : loading();
    if (pages.items.length === 0 && !pages.hasBack && !pages.hasNext) {
      return empty({
        title: ownType('') ? "No schedules for this key's types" : 'No schedules yet',
        text:
          'A schedule creates tasks repeatedly: at 09:00 on weekdays, every 90 seconds, ' +
          'on the last Friday of the month.',
        curl: curlIf('SCHEDULES_CONFIGURE', 'PUT', '/v1/schedules/standup', FIRST),
      });
    }
    return this.#table();
  }

  render() {
    if (this.#isNew) {
      return html`<h1>New schedule</h1>
        <c-schedule-form
          @saved=${(e) => go('schedules', e.detail.name)}
          @left=${() => go('schedules')}
        ></c-schedule-form>`;
    }
    return html`
      <div class="row spread">
        <h1>Schedules</h1>
        <div class="row">
          <input
            type="search"
            class="small"
            aria-label="Filter"
            placeholder="Filter"
            .value=${this.filter}
            @input=${(e) => (this.filter = e.target.value)}
          />
          ${
            api.may('SCHEDULES_CONFIGURE')
              ? html`<a role="button" class="small" href=${href('schedules', { new: 1 })}>New schedule</a>`
              : nothing
          }
        </div>
      </div>
      ${problem(this.error ?? this.pages.error)} ${this.#list()}
    `;
  }
}
customElements.define('page-schedules', SchedulesPage);
