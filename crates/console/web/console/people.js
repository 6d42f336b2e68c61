// People who sign in at an identity provider. The browser goes there and comes back with a
// code; the gateway exchanges it, and has newer tokens given while this tab is open.
import { effect } from './html.js';
import { ask, Refused, remove } from './api.js';
import { forget, keep, lease, me, token } from './session.js';

/** A sign-in that this tab has begun: its state, the secret that ends it, and where one was. */
const BEGUN = 'switchboard.signin';
const here = () => `${location.origin}/`;

/** Goes to the provider's page. */
export async function signIn() {
  const begun = await ask('POST', 'session/begin', { body: { back: here() }, bearer: null });
  sessionStorage.setItem(BEGUN, JSON.stringify({ state: begun.state, secret: begun.secret, view: location.hash }));
  location.assign(begun.open);
}

/** What the provider sent us back with, taken out of the address; null where it did not. */
export function cameBack() {
  const said = Object.fromEntries(new URLSearchParams(location.search));
  if (!said.state || !(said.code || said.error)) return null;
  const begun = JSON.parse(sessionStorage.getItem(BEGUN) ?? 'null');
  sessionStorage.removeItem(BEGUN);
  history.replaceState(null, '', location.pathname);
  // So that whoever reads the address hears of it, and going back does not lead there again.
  location.replace(begun?.view || '#/');
  return { said, begun };
}

/** Ends a sign-in that this tab has begun, and no other. */
export async function finish({ said, begun }) {
  const no = (error, hint) => new Refused(403, { error, hint });
  if (said.state !== begun?.state) throw no('this tab did not begin that sign-in', 'sign in here');
  if (said.error) {
    const why = said.error_description ? `${said.error}, ${said.error_description}` : said.error;
    throw no(`the identity provider let nobody in: ${why.slice(0, 300)}`);
  }
  const body = { back: here(), state: said.state, secret: begun.secret, code: said.code, iss: said.iss ?? null };
  enter(await ask('POST', 'session/finish', { body, bearer: null }));
}

function enter(entered) {
  me.value = entered.me;
  keep(entered.token, { until: entered.until, renewal: entered.renewal });
}

/** Signs out. */
export async function leave() {
  const { renewal } = lease.value ?? {};
  const ending = renewal
    ? ask('POST', 'session/renew', { body: { renewal, end: true }, bearer: null })
    : remove('session');
  // A token that somebody brought opened no session that could end here.
  await ending.catch(() => {});
  forget('You have signed out.');
}

async function renew() {
  const held = lease.value;
  if (!held?.renewal) return;
  try {
    const entered = await ask('POST', 'session/renew', { body: { renewal: held.renewal }, bearer: null });
    if (entered.token) return enter(entered);
    // The provider cannot be asked just now: soon again, with the same token until then.
    keep(token.value, { ...held, renewal: entered.renewal });
  } catch (fault) {
    if (fault.status === 410) keep(token.value, { ...held, renewal: null });
  }
  if (Date.now() > held.until) forget('Your sign-in has ended.');
}

// A minute before a token ends, or sooner where it is short-lived.
effect(() => {
  const held = lease.value;
  if (!held?.until || !held.renewal) return undefined;
  const left = held.until - Date.now();
  const timer = setTimeout(renew, Math.min(Math.max(left - Math.min(60_000, left / 3), 1000), 2 ** 30));
  return () => clearTimeout(timer);
});
