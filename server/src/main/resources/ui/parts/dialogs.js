// Questions and short messages above the page.

import { html, nothing, render } from 'lit';
import { problem } from './notices.js';

/**
 * Asks with a form in a dialog.
 *
 * @param {object} question
 * @param {string} question.title
 * @param {unknown} [question.body] a text or a template with fields
 * @param {string} [question.action] what the button says
 * @param {string} [question.keep] what the button says that leaves everything as it is
 * @param {boolean} [question.danger] then the focus is on the other button, unless there is a field
 * @param {string} [question.typed] what must be typed first
 * @param {(form: FormData, signal: AbortSignal, say: (text: string) => void) => unknown} [question.submit]
 *     done before the dialog closes; a Problem that it throws is shown in it, and how far it is, if it says so
 * @param {boolean} [question.stoppable] whether submit heeds its signal: then there is a button to stop it half-way
 * @param {boolean} [question.cancel] whether there is anything to say no to
 * @param {string} [question.held] what is said to who would leave by Escape where only the button should do
 * @returns {Promise<any>} what submit returned (else the FormData); null if it was not wanted
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
  new Promise((answer) => {
    const dialog = document.createElement('dialog');
    const before = /** @type {HTMLElement | null} */ (document.activeElement);
    let busy = false;
    let error = null;
    let text = '';
    let said = '';
    let over = false;
    let stop = null;
    const close = (value) => {
      if (over) return;
      over = true;
      dialog.close();
      dialog.remove();
      before?.focus?.();
      answer(value);
    };
    const say = (words) => {
      said = words;
      draw();
    };
    const onSubmit = async (event) => {
      event.preventDefault();
      if (busy) return;
      const form = new FormData(event.target);
      busy = true;
      error = null;
      said = '';
      stop = new AbortController();
      draw();
      try {
        const value = submit ? await submit(form, stop.signal, say) : form;
        close(value ?? form);
      } catch (e) {
        error = e;
        busy = false;
        draw();
        if (!dialog.open) dialog.showModal();
      }
    };
    // What is under way cannot be unasked: it is stopped, if it can be, and says how far it came.
    const onCancel = () => {
      if (over) return;
      if (held) {
        say(held);
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
                          text = e.target.value;
                          draw();
                        }}
                    /></label>`
                  : nothing
              }
              ${problem(error)}
              <p class="muted" role="status" ?hidden=${said === ''}>${said}</p>
              <footer>
                ${cancel ? cancelButton() : nothing}
                <button
                  type="submit"
                  class=${danger ? 'danger' : ''}
                  aria-busy=${busy}
                  ?disabled=${busy || (typed && text !== typed)}
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
    dialog.addEventListener('close', onCancel); // a browser closes it at a second Escape, whatever is said
    draw();
    document.body.append(dialog);
    dialog.showModal();
    /** @type {HTMLElement | null} */
    const first = dialog.querySelector(
      '[autofocus], .dialog-body input, .dialog-body select, .dialog-body textarea, input',
    );
    // What cannot be undone is not what a careless Enter does.
    /** @type {HTMLElement} */
    const button = dialog.querySelector(danger && cancel ? '.keep' : '[type=submit]');
    (first ?? button).focus();
  });

/** Whether it is really wanted. @returns {Promise<boolean>} */
export const confirm = async (question) => (await ask(question)) !== null;

/** Deletes something once its name is typed. @returns {Promise<boolean>} whether it is gone */
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
