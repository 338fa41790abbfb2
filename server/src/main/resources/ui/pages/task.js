// #/task

import { html } from 'lit';
import { Page } from '../page.js';

class TaskPage extends Page {
  get heading() {
    return 'Task';
  }

  render() {
    return html`<h1>Task</h1>`;
  }
}
customElements.define('page-task', TaskPage);
