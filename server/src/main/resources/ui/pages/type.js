// #/type

import { html } from 'lit';
import { Page } from '../page.js';

class TypePage extends Page {
  get heading() {
    return 'Type';
  }

  render() {
    return html`<h1>Type</h1>`;
  }
}
customElements.define('page-type', TypePage);
