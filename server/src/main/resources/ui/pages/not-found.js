// Any address that is no page's.

import { html } from 'lit';
import { visible } from '../format.js';
import { Page } from '../page.js';
import { empty } from '../parts.js';
import { href } from '../router.js';

class NotFoundPage extends Page {
  get heading() {
    return 'No such page';
  }

  render() {
    return html`<h1>No such page</h1>
      ${empty({
        title: html`Nothing is at <code>${visible(location.hash)}</code>`,
        text: html`Was the link cut off? <a href=${href('overview')}>To the overview</a>, or choose a page above.`,
      })}`;
  }
}
customElements.define('page-not-found', NotFoundPage);
