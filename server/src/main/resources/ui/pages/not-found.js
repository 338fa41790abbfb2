// Every address that no page has.

import { html } from 'lit';
import { visible } from '../format.js';
import { Page } from '../page.js';
import { empty } from '../parts.js';
import { href } from '../router.js';

class NotFoundPage extends Page {
  get heading() {
    return 'Page not found';
  }

  render() {
    return html`<h1>Page not found</h1>
      ${empty({
        title: html`<code>${visible(location.hash)}</code> does not exist`,
        text: html`Check the link, or go to <a href=${href('overview')}>Overview</a>.`,
      })}`;
  }
}
customElements.define('page-not-found', NotFoundPage);
