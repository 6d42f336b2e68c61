// What the whole page knows: the gateway's state, kept up by its events.
import { batch, computed, signal } from './html.js';
import { get } from './api.js';
import { me, token } from './session.js';
import { follow } from './stream.js';

/** @type {import('preact').Signal<import('api').GatewayInfo | null>} */
export const gateway = signal(null);
/** @type {import('preact').Signal<import('api').Server[]>} */
export const servers = signal([]);
/** @type {import('preact').Signal<import('api').Client[]>} */
export const clients = signal([]);
export const waiting = signal(0);
/** @type {import('preact').Signal<import('api').TapState | null>} */
export const tap = signal(null);
/** @type {import('preact').Signal<import('api').Breakpoints | null>} */
export const breakpoints = signal(null);
/** `connecting`, `live`, `lost`. */
export const link = signal('connecting');
/** When the gateway was last heard: what is shown while it is lost is as it was then. */
export const heard = signal(Date.now());
/** Whether what is shown may not be so any more. */
export const stale = computed(() => link.value === 'lost');
/** Why the state could not be read. */
export const fault = signal(null);
/** What a server lists has changed: counts up, by name. */
export const listed = signal({});
/** Settings were read anew. */
export const settingsRead = signal(0);
/** A clock for "3 s ago", that everybody shares. */
export const now = signal(Date.now());

// The same name may stand in several files: the one that is used comes first.
const SPARE = ['shadowed', 'unused'];
export const serverNamed = (name) => {
  const found = servers.value.filter((server) => server.name === name || server.segment === name);
  return found.find((server) => !SPARE.includes(server.state.word)) ?? found[0];
};
export const usable = computed(() =>
  servers.value.filter((server) => server.state.word === 'connected' || server.state.word === 'asleep'),
);

const listeners = new Set();
let close = null;
let revision = 0;
let wanted = { topics: 'state,questions', filter: '' };

/** Hears every event from now on; returns what ends that. */
export function hear(listener) {
  listeners.add(listener);
  return () => listeners.delete(listener);
}

/** Reads the state, and follows it. */
export async function begin() {
  fault.value = null;
  try {
    me.value = me.value ?? (await get('session'));
    await readState();
    connect();
  } catch (refused) {
    fault.value = refused;
    stands('lost');
  }
}

export function end() {
  close?.();
  close = null;
  stands('connecting');
}

function stands(word) {
  if (link.value === 'live' && word !== 'live') heard.value = Date.now();
  link.value = word;
}

async function readState() {
  const state = await get('state');
  revision = state.revision;
  batch(() => {
    gateway.value = state.gateway;
    servers.value = state.servers;
    clients.value = state.clients;
    waiting.value = state.waiting;
    tap.value = state.tap;
    breakpoints.value = state.breakpoints;
  });
}

/** Says which calls are wanted, if any: one stream carries everything. */
export function wantCalls(filter) {
  const next =
    filter === null ? { topics: 'state,questions', filter: '' } : { topics: 'state,calls,questions', filter };
  if (next.topics === wanted.topics && next.filter === wanted.filter) return;
  wanted = next;
  if (close) connect();
}

function connect() {
  close?.();
  close = follow(
    { ...wanted, since: revision },
    {
      state: stands,
      event: (event, id) => {
        if (id !== null && id > revision) revision = id;
        take(event);
        for (const listener of [...listeners]) listener(event);
      },
    },
  );
}

function take(event) {
  switch (event.kind) {
    case 'server': {
      const others = servers.value;
      const at = others.findIndex((server) => server.name === event.server.name && server.file === event.server.file);
      servers.value = at < 0 ? [...others, event.server] : others.with(at, event.server);
      break;
    }
    case 'server-gone':
      servers.value = servers.value.filter(
        (server) => server.name !== event.name || (event.file ?? server.file) !== server.file,
      );
      break;
    case 'listed':
      listed.value = { ...listed.value, [event.name]: (listed.value[event.name] ?? 0) + 1 };
      break;
    case 'clients':
      clients.value = event.clients;
      break;
    case 'question':
      waiting.value = event.waiting;
      break;
    case 'tap':
      tap.value = event.tap;
      break;
    case 'breakpoints':
      breakpoints.value = event.breakpoints;
      break;
    case 'settings':
      settingsRead.value += 1;
      break;
    case 'reset':
      readState().catch(() => {});
      break;
    default:
  }
}

// A browser opens few connections to one address: a tab that nobody looks at gives its own
// back, and asks now and then how many questions wait, for its title.
let hiddenSince = 0;
setInterval(async () => {
  now.value = Date.now();
  if (!token.value || !gateway.value) return;
  if (!document.hidden) {
    hiddenSince = 0;
    if (!close) begin();
  } else if (!hiddenSince) {
    hiddenSince = Date.now();
  } else if (Date.now() - hiddenSince > 60_000) {
    end();
    const questions = await get('questions').catch(() => null);
    if (questions) waiting.value = questions.waiting;
  }
}, 5000);
document.addEventListener('visibilitychange', () => {
  now.value = Date.now();
  if (!document.hidden && !close && token.value && gateway.value) begin();
});
