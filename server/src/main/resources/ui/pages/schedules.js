// #/schedules

import { html } from 'lit';
import { Page } from '../page.js';

class SchedulesPage extends Page {
  get heading() {
    return 'Schedules';
  }

  render() {
    return html`<h1>Schedules</h1>`;
  }
}
customElements.define('page-schedules', SchedulesPage);
