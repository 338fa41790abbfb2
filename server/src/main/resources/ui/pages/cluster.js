// #/cluster

import { html } from 'lit';
import { Page } from '../page.js';

class ClusterPage extends Page {
  get heading() {
    return 'Cluster';
  }

  render() {
    return html`<h1>Cluster</h1>`;
  }
}
customElements.define('page-cluster', ClusterPage);
