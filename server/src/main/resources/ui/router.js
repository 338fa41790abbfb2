// Addresses: '#/tasks?status=DEAD' is the page 'tasks' with a query.

import { search } from './api.js';

/** The name in the address, what stands in the navigation, the key after 'g'. */
export const PLACES = [
  { name: 'overview', label: 'Overview', key: 'o' },
  { name: 'tasks', label: 'Tasks', key: 't', one: 'task' },
  { name: 'dead-letters', label: 'Dead letters', key: 'd' },
  { name: 'schedules', label: 'Schedules', key: 's', one: 'schedule' },
  { name: 'types', label: 'Types', key: 'y', one: 'type' },
  { name: 'cluster', label: 'Cluster', key: 'c', permission: 'CLUSTER' },
  { name: 'settings', label: 'Settings', key: 'e' },
];

// Written out: no text from an address ever becomes the address of a script.
const LOADERS = {
  overview: () => import('./pages/overview.js'),
  tasks: () => import('./pages/tasks.js'),
  task: () => import('./pages/task.js'),
  'dead-letters': () => import('./pages/dead-letters.js'),
  schedules: () => import('./pages/schedules.js'),
  schedule: () => import('./pages/schedule.js'),
  types: () => import('./pages/types.js'),
  type: () => import('./pages/type.js'),
  cluster: () => import('./pages/cluster.js'),
  settings: () => import('./pages/settings.js'),
};

const decoded = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** What an address means: the place, the page's module and tag, its parameters. */
export const read = (hash) => {
  const [path, query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
  const [name, ...rest] = path.split('/').filter((part) => part !== '');
  const place = PLACES.find((each) => each.name === name) ?? PLACES[0];
  const params = rest.map(decoded);
  const page = params.length > 0 && place.one ? place.one : place.name;
  return { place, page, tag: `page-${page}`, path, params, query: new URLSearchParams(query) };
};

export const load = (page) => LOADERS[page]();

/** The address of a page: href('tasks', id), href('tasks', {status: 'DEAD'}). */
export const href = (name, ...rest) => {
  const last = rest.at(-1);
  const query = typeof last === 'object' && last !== null ? rest.pop() : {};
  return `#/${[name, ...rest].map(encodeURIComponent).join('/')}${search(query)}`;
};

/** Goes there. */
export const go = (name, ...rest) => {
  location.hash = href(name, ...rest);
};

/** Puts another query in the address, without a step in the history if `quietly`. */
export const setQuery = (query, { quietly = false } = {}) => {
  const hash = `${location.hash.split('?', 1)[0] || '#/overview'}${search(query)}`;
  if (quietly) {
    history.replaceState(null, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = hash;
  }
};
