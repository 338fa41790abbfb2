// #/settings

import { html } from 'lit';
import { Page } from '../page.js';

class SettingsPage extends Page {
  get heading() {
    return 'Settings';
  }

  render() {
    return html`<h1>Settings</h1>`;
  }
}
customElements.define('page-settings', SettingsPage);
