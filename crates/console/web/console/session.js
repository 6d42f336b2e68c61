// Coming in and going out. The token lives in this tab alone (sessionStorage), is sent as a
// header, and is never part of an address. There are no cookies.
import { signal } from './html.js';

const KEY = 'switchboard.token';
const LEASE = 'switchboard.lease';

/** The bearer, or null. */
export const token = signal(sessionStorage.getItem(KEY));
/** Who we are. @type {import('preact').Signal<import('api').Me | null>} */
export const me = signal(null);
/**
 * Until when an identity provider's token is good, and what a newer one is had for.
 * @type {import('preact').Signal<{until: number | null, renewal: string | null} | null>}
 */
export const lease = signal(JSON.parse(sessionStorage.getItem(LEASE) ?? 'null'));
/** Why somebody has to come in again. */
export const turnedAway = signal(null);

const RANK = { own: 0, viewer: 1, operator: 2, admin: 3 };

/** Whether we may do what a role may. */
export const may = (role) => (RANK[me.value?.role] ?? 0) >= RANK[role];

export function keep(bearer, held = null) {
  sessionStorage.setItem(KEY, bearer);
  if (held) sessionStorage.setItem(LEASE, JSON.stringify(held));
  lease.value = held;
  token.value = bearer;
  turnedAway.value = null;
}

export function forget(why = null) {
  sessionStorage.removeItem(KEY);
  sessionStorage.removeItem(LEASE);
  lease.value = null;
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
