// Tables that the user sorts by clicking on a column.

import { html } from 'lit';

/** A column head that sorts: `host.sort` is [key, isDescending]. */
export const sortHead = (host, key, text, className = '') => {
  const [by, down] = host.sort;
  const way = by === key ? (down ? 'descending' : 'ascending') : 'none';
  const mark = { descending: '▾', ascending: '▴', none: '' }[way];
  const sort = () => (host.sort = [key, by === key ? !down : true]);
  return html`<th scope="col" class=${className} aria-sort=${way}>
    <button type="button" class="sort" @click=${sort}>${text}<span aria-hidden="true"> ${mark}</span></button>
  </th>`;
};

const isMissing = (value) => value === null || value === undefined;

/**
 * Sorts a copy; items without a value come last in either direction.
 *
 * @template T
 * @param {T[]} items
 * @param {[string, boolean]} by the key, and whether it is descending
 * @param {(item: T, key: string) => any} [value]
 */
export const sorted = (items, [key, down], value = (/** @type {any} */ item) => item[key]) => {
  const way = down ? -1 : 1;
  return [...items].sort((a, b) => {
    const [x, y] = [value(a, key), value(b, key)];
    if (isMissing(x) || isMissing(y)) return Number(isMissing(x)) - Number(isMissing(y));
    return x < y ? -way : x > y ? way : 0;
  });
};
