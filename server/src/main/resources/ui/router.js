// Addresses: '#/tasks?status=DEAD' is the page 'tasks' with a query. Where there is more than one tenant, the query
// also names it, so that a shared link shows the same data.

import { api, search } from './api.js';

/** The name in the address, the label in the navigation, the key after 'g'. */
export const PLACES = [
  { name: 'overview', label: 'Overview', key: 'o' },
  { name: 'tasks', label: 'Tasks', key: 't', one: 'task' },
  { name: 'dead-letters', label: 'Dead letters', key: 'd' },
  { name: 'schedules', label: 'Schedules', key: 's', one: 'schedule' },
  { name: 'types', label: 'Types', key: 'y', one: 'type' },
  { name: 'cluster', label: 'Cluster', key: 'c', permission: 'CLUSTER' },
  { name: 'settings', label: 'Settings', key: 'e' },
];

const NOT_FOUND = { name: 'not-found', label: 'Not found' };

// Written out, so that no text of an address ever becomes the URL of a script.
const LOADERS = {
  'not-found': () => import('./pages/not-found.js'),
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

const TENANT = 'tenant'; // no page may use this parameter

const decoded = (part) => {
  try {
    return decodeURIComponent(part);
  } catch {
    return part;
  }
};

/** Parses an address: the place, the page's module and tag, its parameters. */
export const read = (hash) => {
  const [path, query = ''] = hash.replace(/^#?\/?/, '').split(/\?(.*)/s);
  const [name, ...rest] = path.split('/').filter((part) => part !== '');
  const place = name === undefined ? PLACES[0] : (PLACES.find((each) => each.name === name) ?? NOT_FOUND);
  const params = rest.map(decoded);
  const page = params.length > 0 && place.one ? place.one : place.name;
  const asked = new URLSearchParams(query);
  const tenant = asked.get(TENANT) ?? '';
  asked.delete(TENANT);
  return { place, page, tag: `page-${page}`, path, params, query: asked, tenant };
};

/** The address with this tenant; without one if it is empty. */
export const ofTenant = (hash, tenant) => {
  const { path, query } = read(hash);
  if (tenant) query.set(TENANT, tenant);
  return `#/${path || PLACES[0].name}${search(query)}`;
};

export const load = (page) => LOADERS[page]();

/** The address of a page of the current tenant: href('tasks', id), href('tasks', {status: 'DEAD'}). */
export const href = (name, ...rest) => {
  const last = rest.at(-1);
  const query = typeof last === 'object' && last !== null ? rest.pop() : {};
  const hash = `#/${[name, ...rest].map(encodeURIComponent).join('/')}${search(query)}`;
  return read(location.hash).tenant ? ofTenant(hash, api.tenant) : hash;
};

export const go = (name, ...rest) => {
  location.hash = href(name, ...rest);
};

/** Changes the query of the address, without a step in the history if `quietly`. */
export const setQuery = (query, { quietly = false } = {}) => {
  const { tenant } = read(location.hash);
  const hash = ofTenant(`${location.hash.split('?', 1)[0]}${search(query)}`, tenant);
  if (quietly) {
    history.replaceState(null, '', hash);
    dispatchEvent(new HashChangeEvent('hashchange'));
  } else {
    location.hash = hash;
  }
};
