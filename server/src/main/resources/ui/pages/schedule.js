// #/schedule

import { html } from 'lit';
import { Page } from '../page.js';

class SchedulePage extends Page {
  get heading() {
    return 'Schedule';
  }

  render() {
    return html`<h1>Schedule</h1>`;
  }
}
customElements.define('page-schedule', SchedulePage);
