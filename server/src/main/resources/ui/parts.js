// Parts that every page uses.

export { choices } from './parts/choices.js';
export { problem, empty, loading, tile } from './parts/notices.js';
export { asked, confirmed, deleted, toast } from './parts/dialogs.js';
export { Pages } from './parts/paging.js';
import './parts/json.js';
import './parts/tabs.js';
