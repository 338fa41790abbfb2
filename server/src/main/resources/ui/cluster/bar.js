import { html } from 'lit';

/** A bar for a share of a whole; the label is for screen readers. */
export const bar = (value, max, label) =>
  html`<progress class="bar" value=${value} max=${Math.max(1, max)} aria-label=${label}></progress>`;
