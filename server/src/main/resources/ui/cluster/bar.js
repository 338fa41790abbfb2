import { html } from 'lit';

/** A share of the whole as a bar, with words for those who do not see it. */
export const bar = (value, most, label) =>
  html`<progress class="bar" value=${value} max=${Math.max(1, most)} aria-label=${label}></progress>`;
