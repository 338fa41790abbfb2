// Forms whose fields are named by JSON pointers, so that they map to the body and errors to their fields.

import { html, nothing } from 'lit';
import { Problem } from '../api.js';
import { localTime, setDuration } from '../format.js';
import { parseExact } from '../exact-json.js';

/** {A: 'b'} -> 'A: b', a line for each. */
const headerLines = (headers) =>
  Object.entries(headers ?? {})
    .map(([name, value]) => `${name}: ${value}`)
    .join('\n');

const SHOWN = {
  time: localTime,
  duration: setDuration,
  codes: (codes) => (codes ?? []).join(', '),
  names: (names) => (names ?? []).join(', '),
  headers: headerLines,
  json: (value) => (value === undefined ? '' : JSON.stringify(value, null, 2)),
};

const shownAs = (kind, value) => String((SHOWN[kind] ?? ((each) => each ?? ''))(value));

const wrongOf = (errors, name) =>
  (errors ?? [])
    .filter(({ pointer }) => pointer === name || pointer?.startsWith(`${name}/`))
    .map((each) => each.message ?? each.detail)
    .join('; ');

const idOf = (name) => `field${name.replaceAll('/', '-')}`;

// Not live: the user's choice stays until the value itself changes.
const options = (choices, value) =>
  choices.map(([each, text]) => html`<option value=${each} .selected=${each === value}>${text}</option>`);

const control = (f, shown, wrong) => {
  const id = idOf(f.name);
  const described = [f.hint ? `${id}-hint` : '', wrong ? `${id}-wrong` : ''].join(' ').trim() || nothing;
  const invalid = wrong ? 'true' : nothing;
  const kind = f.kind ?? 'text';
  if (f.choices) {
    return html`<select
      id=${id}
      name=${f.name}
      data-kind=${kind}
      aria-describedby=${described}
      aria-invalid=${invalid}
      ?disabled=${f.disabled}
      @change=${f.change}
    >
      ${options(f.choices, f.value ?? '')}
    </select>`;
  }
  if (f.rows) {
    return html`<textarea
      id=${id}
      name=${f.name}
      data-kind=${kind}
      rows=${f.rows}
      .value=${shown}
      .original=${f.value}
      spellcheck="false"
      class="code"
      placeholder=${f.placeholder ?? nothing}
      aria-describedby=${described}
      aria-invalid=${invalid}
      ?disabled=${f.disabled}
    ></textarea>`;
  }
  const type = { time: 'datetime-local', number: 'number', secret: 'password' }[kind] ?? 'text';
  return html`<input
    id=${id}
    name=${f.name}
    data-kind=${kind}
    type=${type}
    .value=${shown}
    .original=${f.value}
    step=${kind === 'time' ? '1' : nothing}
    min=${f.min ?? nothing}
    max=${f.max ?? nothing}
    placeholder=${f.placeholder ?? nothing}
    list=${f.list ?? nothing}
    ?required=${f.required}
    maxlength=${f.maxlength ?? nothing}
    autocomplete="off"
    spellcheck="false"
    ?disabled=${f.disabled}
    class=${f.code ? 'code' : ''}
    aria-describedby=${described}
    aria-invalid=${invalid}
    @input=${f.input}
  />`;
};

/**
 * One field with its label, hint and error.
 *
 * @param f name (a JSON pointer), label, value, hint, errors, kind (text, number, duration, time,
 *     raw (not trimmed), json, codes, names, headers, secret), choices ([value, text] pairs) or rows for a text area
 */
export const field = (f) => {
  const id = idOf(f.name);
  const wrong = wrongOf(f.errors, f.name);
  return html`<div class="field ${f.wide || f.rows ? 'field-wide' : ''}">
    <label for=${id}>${f.label}${f.required ? html`<span class="muted"> (required)</span>` : nothing}</label>
    ${control(f, shownAs(f.kind, f.value), wrong)} ${f.hint ? html`<small id="${id}-hint">${f.hint}</small>` : nothing}
    ${wrong ? html`<small id="${id}-wrong" class="wrong">${wrong}</small>` : nothing}
  </div>`;
};

const headers = (text) => {
  const pairs = text
    .split('\n')
    .filter((line) => line.trim() !== '')
    .map((line) => {
      const colon = line.indexOf(':');
      if (colon < 1) throw new Error('each line must be "Name: value"');
      return [line.slice(0, colon).trim(), line.slice(colon + 1).trim()];
    });
  return Object.fromEntries(pairs);
};

const json = (text) => {
  try {
    return parseExact(text);
  } catch (e) {
    throw new Error(`Invalid JSON: ${e.message}`, { cause: e });
  }
};

const whole = (text) => {
  if (!/^-?\d+$/.test(text)) throw new Error('must be a whole number');
  return Number(text);
};

const READ = {
  number: whole,
  json,
  headers,
  time: (text) => new Date(text).toISOString(),
  names: (text) => text.split(/[\s,]+/).filter(Boolean),
  codes: (text) =>
    text
      .split(/[\s,]+/)
      .filter(Boolean)
      .map((code) => (/^\d+$/.test(code) ? Number(code) : code)),
};

const isUntouched = ({ original, value, dataset }) => {
  if (original === undefined || original === null) return false;
  const shown = shownAs(dataset.kind, original);
  return dataset.kind === 'time'
    ? new Date(shown).getTime() === new Date(value).getTime()
    : shown.replace(/\r\n?/g, '\n') === value;
};

const valueOf = (each) => {
  // Not every input can show its whole value: an unchanged field is sent back as it came.
  if (isUntouched(each)) return each.original;
  if (each.dataset.kind === 'raw') return each.value;
  return (READ[each.dataset.kind] ?? ((text) => text))(each.value.trim());
};

const put = (body, pointer, value) => {
  const path = pointer.slice(1).split('/');
  const last = path.pop();
  let at = body;
  for (const part of path) at = at[part] ??= {};
  at[last] = value;
};

const isField = (each, wanted) =>
  each.name?.startsWith('/') && !each.disabled && (!wanted || wanted.includes(each.name.split('/', 2)[1]));

/**
 * The body of the form without its empty fields. Throws a Problem with all errors.
 *
 * @param {string[]} [wanted] only these members of the body
 */
export const readForm = (form, wanted) => {
  const body = {};
  const errors = [];
  for (const each of form.elements) {
    if (!isField(each, wanted)) continue;
    if (each.type === 'checkbox') {
      put(body, each.name, each.checked);
    } else if (each.value.trim() !== '') {
      try {
        put(body, each.name, valueOf(each));
      } catch (e) {
        errors.push({ pointer: each.name, message: e.message });
      }
    }
  }
  if (errors.length > 0) {
    throw new Problem(422, { title: 'Not saved', detail: 'Fix the highlighted fields.', errors });
  }
  return body;
};
