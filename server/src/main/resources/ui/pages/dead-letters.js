// #/dead-letters

import { html } from 'lit';
import { Page } from '../page.js';

class DeadLettersPage extends Page {
  get heading() {
    return 'Dead letters';
  }

  render() {
    return html`<h1>Dead letters</h1>`;
  }
}
customElements.define('page-dead-letters', DeadLettersPage);
