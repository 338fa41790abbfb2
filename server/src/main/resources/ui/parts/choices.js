// The options of a select.

import { html } from 'lit';
import { live } from 'lit/directives/live.js';

/**
 * The options of a select that follows a value, from [value, text] pairs. The attribute `selected`
 * has no effect on a select that the user has changed, so the property is set.
 */
export const choices = (pairs, chosen) =>
  pairs.map(([value, text]) => html`<option value=${value} .selected=${live(value === chosen)}>${text}</option>`);
