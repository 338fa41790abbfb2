// #/types

import { html } from 'lit';
import { Page } from '../page.js';

class TypesPage extends Page {
  get heading() {
    return 'Types';
  }

  render() {
    return html`<h1>Types</h1>`;
  }
}
customElements.define('page-types', TypesPage);
