// The parts that every page uses.

export { choices } from './parts/choices.js';
export { problem, empty, loading, tile } from './parts/notices.js';
export { ask, confirm, confirmDelete, toast } from './parts/dialogs.js';
export { PagedList } from './parts/paging.js';
import './parts/json.js';
import './parts/tabs.js';
