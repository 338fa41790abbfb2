// What a select offers.

import { html } from 'lit';
import { live } from 'lit/directives/live.js';

/**
 * The options of a select that follows something else, from [value, text] pairs. An attribute
 * would no longer move a select that somebody has touched, and it would name what is not so.
 */
export const choices = (pairs, chosen) =>
  pairs.map(([value, text]) => html`<option value=${value} .selected=${live(value === chosen)}>${text}</option>`);
