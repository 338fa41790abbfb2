// #/tasks

import { html } from 'lit';
import { Page } from '../page.js';

class TasksPage extends Page {
  get heading() {
    return 'Tasks';
  }

  render() {
    return html`<h1>Tasks</h1>`;
  }
}
customElements.define('page-tasks', TasksPage);
