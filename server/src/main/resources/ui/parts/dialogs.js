// Dialogs and toasts.

import { html, nothing, render } from 'lit';
import { problem } from './notices.js';

/**
 * Shows a form in a dialog.
 *
 * @param {object} question
 * @param {string} question.title
 * @param {unknown} [question.body] a text or a template with fields
 * @param {string} [question.action] the label of the submit button
 * @param {string} [question.keep] the label of the other button
 * @param {boolean} [question.danger] puts the focus on the other button, unless there is a field
 * @param {string} [question.typed] a text that must be typed first
 * @param {(form: FormData, signal: AbortSignal, report: (text: string) => void) => unknown} [question.submit]
 *     runs before the dialog closes; the dialog shows the Problem that it throws and the progress that it reports
 * @param {boolean} [question.stoppable] whether submit obeys its signal: then there is a Stop button
 * @param {boolean} [question.cancel] whether there is a second button
 * @param {string} [question.held] the message when the user presses Escape but must use the button
 * @returns {Promise<any>} what submit returned, or the FormData; null if it was cancelled
 */
export const ask = ({
  title,
  body,
  action = 'OK',
  keep = 'Cancel',
  danger = false,
  typed,
  submit,
  stoppable = false,
  cancel = true,
  held,
}) =>
  new Promise((resolve) => {
    const dialog = document.createElement('dialog');
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    let busy = false;
    let error = null;
    let typedText = '';
    let progress = '';
    let closed = false;
    let stop = null;
    const close = (value) => {
      if (closed) return;
      closed = true;
      dialog.close();
      dialog.remove();
      before?.focus?.();
      resolve(value);
    };
    const report = (text) => {
      progress = text;
      draw();
    };
    const onSubmit = async (event) => {
      event.preventDefault();
      if (busy) return;
      const form = new FormData(event.target);
      busy = true;
      error = null;
      progress = '';
      stop = new AbortController();
      draw();
      try {
        const value = submit ? await submit(form, stop.signal, report) : form;
        close(value ?? form);
      } catch (e) {
        error = e;
        busy = false;
        draw();
        if (!dialog.open) dialog.showModal();
      }
    };
    // A submit under way cannot be undone: it is stopped if possible, and the dialog shows the progress.
    const onCancel = () => {
      if (closed) return;
      if (held) {
        report(held);
        if (!dialog.open) dialog.showModal();
      } else if (!busy) {
        close(null);
      } else if (stoppable) {
        stop.abort();
        draw();
      }
    };
    const cancelButton = () => {
      const isStopping = busy && stop.signal.aborted;
      return html`<button
        type="button"
        class="secondary outline keep"
        ?disabled=${busy && (!stoppable || isStopping)}
        @click=${onCancel}
      >
        ${busy && stoppable ? (isStopping ? 'Stopping …' : 'Stop') : keep}
      </button>`;
    };
    const draw = () =>
      render(
        html`
          <article>
            <form @submit=${onSubmit}>
              <h2 id="dialog-title">${title}</h2>
              <div class="dialog-body">${typeof body === 'string' ? html`<p>${body}</p>` : (body ?? nothing)}</div>
              ${
                typed
                  ? html`<label
                      >Type <strong>${typed}</strong> to confirm
                      <input
                        autocomplete="off"
                        spellcheck="false"
                        @input=${(e) => {
                          typedText = e.target.value;
                          draw();
                        }}
                    /></label>`
                  : nothing
              }
              ${problem(error)}
              <p class="muted" role="status" ?hidden=${progress === ''}>${progress}</p>
              <footer>
                ${cancel ? cancelButton() : nothing}
                <button
                  type="submit"
                  class=${danger ? 'danger' : ''}
                  aria-busy=${busy}
                  ?disabled=${busy || (typed && typedText !== typed)}
                >
                  ${action}
                </button>
              </footer>
            </form>
          </article>
        `,
        dialog,
      );
    dialog.setAttribute('aria-labelledby', 'dialog-title');
    dialog.addEventListener('cancel', (event) => {
      event.preventDefault();
      onCancel();
    });
    dialog.addEventListener('close', onCancel); // browsers close it on a second Escape in any case
    draw();
    document.body.append(dialog);
    dialog.showModal();
    /** @type {HTMLElement | null} */
    const first = dialog.querySelector(
      '[autofocus], .dialog-body input, .dialog-body select, .dialog-body textarea, input',
    );
    // A careless Enter must not do what cannot be undone.
    /** @type {HTMLElement} */
    const button = dialog.querySelector(danger && cancel ? '.keep' : '[type=submit]');
    (first ?? button).focus();
  });

/** Asks for confirmation. @returns {Promise<boolean>} */
export const confirm = async (question) => (await ask(question)) !== null;

/** Deletes something once its name is typed. @returns {Promise<boolean>} whether it was deleted */
export const confirmDelete = async ({ name, body, submit }) => {
  const isGone = await confirm({
    title: `Delete ${name}?`,
    body,
    action: 'Delete',
    danger: true,
    typed: name,
    submit,
  });
  if (isGone) toast(`Deleted ${name}`);
  return isGone;
};

let region = null;

/**
 * A short message at the bottom; with `undo` it stays longer and has a button.
 *
 * @param {string} text
 * @param {{undo?: () => unknown, bad?: boolean}} [options]
 */
export const toast = (text, { undo, bad = false } = {}) => {
  if (!region) {
    region = document.createElement('div');
    region.className = 'toasts';
    region.setAttribute('role', 'status');
    region.setAttribute('aria-live', 'polite');
    document.body.append(region);
  }
  const box = document.createElement('div');
  box.className = bad ? 'toast toast-bad' : 'toast';
  const close = () => box.remove();
  let timer = null;
  const wait = () => (timer = setTimeout(close, undo ? 15_000 : 6_000));
  box.addEventListener('mouseenter', () => clearTimeout(timer));
  box.addEventListener('mouseleave', wait);
  const onUndo = async () => {
    close();
    try {
      await undo();
    } catch (e) {
      toast(e.detail || e.message, { bad: true });
    }
  };
  render(
    html`<span>${text}</span>
      ${undo ? html`<button type="button" class="small outline" @click=${onUndo}>Undo</button>` : nothing}
      <button type="button" class="small quiet" aria-label="Close" @click=${close}>✕</button>`,
    box,
  );
  region.append(box);
  wait();
};
