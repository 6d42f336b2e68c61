// Coming in and going out. The token lives in this tab alone (sessionStorage), is sent as a
// header, and is never part of an address. There are no cookies.
import { signal } from './html.js';

const KEY = 'switchboard.token';

/** The bearer, or null. */
export const token = signal(sessionStorage.getItem(KEY));
/** Who we are. @type {import('preact').Signal<import('api').Me | null>} */
export const me = signal(null);
/** Why somebody has to come in again. */
export const turnedAway = signal(null);

const RANK = { own: 0, viewer: 1, operator: 2, admin: 3 };

/** Whether we may do what a role may. */
export const may = (role) => (RANK[me.value?.role] ?? 0) >= RANK[role];

export function keep(bearer) {
  sessionStorage.setItem(KEY, bearer);
  token.value = bearer;
  turnedAway.value = null;
}

export function forget(why = null) {
  sessionStorage.removeItem(KEY);
  token.value = null;
  me.value = null;
  turnedAway.value = why;
}

/** Takes the single-use code out of the address, if there is one. */
export function codeInAddress() {
  const fragment = location.hash.slice(1);
  if (!fragment || fragment.startsWith('/')) return null;
  history.replaceState(null, '', location.pathname + '#/');
  return decodeURIComponent(fragment.replace(/^code=/, ''));
}
