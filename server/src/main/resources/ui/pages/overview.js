// #/overview

import { html } from 'lit';
import { Page } from '../page.js';

class OverviewPage extends Page {
  get heading() {
    return 'Overview';
  }

  render() {
    return html`<h1>Overview</h1>`;
  }
}
customElements.define('page-overview', OverviewPage);
