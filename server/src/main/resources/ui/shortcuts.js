// Keyboard shortcuts; '?' lists them.

import { html } from 'lit';
import { go } from './router.js';
import { ask } from './parts.js';

const typing = (target) =>
  target instanceof HTMLElement && (target.isContentEditable || target.matches('input, select, textarea'));

const help = (places) =>
  ask({
    title: 'Keyboard shortcuts',
    action: 'Close',
    cancel: false,
    body: html`<table class="keys">
      <tbody>
        ${places.map(
          (place) =>
            html`<tr>
              <td><kbd>g</kbd> <kbd>${place.key}</kbd></td>
              <td>${place.label}</td>
            </tr>`,
        )}
        <tr>
          <td><kbd>/</kbd></td>
          <td>Search on this page</td>
        </tr>
        <tr>
          <td><kbd>?</kbd></td>
          <td>Show keyboard shortcuts</td>
        </tr>
      </tbody>
    </table>`,
  });

/** Starts to listen; `places` returns the pages that 'g' and a letter may open. */
export const shortcuts = ({ places }) => {
  let gone = 0;
  addEventListener('keydown', (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || typing(event.target)) return;
    if (document.querySelector('dialog[open]') || !document.querySelector('header.top')) return;
    const after = performance.now() - gone < 1500;
    gone = 0;
    if (event.key === '?') {
      help(places());
    } else if (event.key === '/') {
      const box = /** @type {HTMLElement | null} */ (
        document.querySelector('main input[type=search], main [data-search]')
      );
      if (!box) return;
      box.focus();
    } else if (event.key === 'g') {
      gone = performance.now();
      return;
    } else {
      const place = after && places().find((each) => each.key === event.key);
      if (!place) return;
      go(place.name);
    }
    event.preventDefault();
  });
};
