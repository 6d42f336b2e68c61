// The list of calls, newest first. What is shown never moves while somebody reads: what is
// new waits until it is asked for.
import { batch, signal } from './html.js';
import { get } from './api.js';
import { hear, wantCalls } from './store.js';

/** The most that are held here; older ones are asked for again. */
export const MOST = 10_000;
const PAGE = 500;

/** @type {import('preact').Signal<import('api').Call[]>} */
export const shown = signal([]);
/** @type {import('preact').Signal<import('api').Call[]>} */
export const fresh = signal([]);
export const paused = signal(false);
export const page = signal({ total: 0, matching: 0, dropped: 0, more: false, partial: false, next: null });
export const busy = signal(false);
export const refused = signal(null);
/** The filter that was used last: whoever comes back from a call finds the same list. */
export const lastFilter = signal('');

let filter = null;
let turn = 0;
let pending = new Map();
let asked = false;

/** Whether pings are shown: a client that is connected sends one every few seconds. */
export const pings = signal(false);

/** What the gateway is asked for. Whoever speaks of methods, or of several ways, has said all. */
const whole = (wanted) => (pings.value || /\bmethod:|\bor\b/.test(wanted) ? wanted : `${wanted} -method:ping`.trim());

/** Shows the calls that match a filter, from now on. */
export async function show(said) {
  lastFilter.value = said;
  const wanted = whole(said);
  filter = wanted;
  const mine = ++turn;
  // Events are not searched for texts.
  wantCalls(wanted.includes('"') ? '' : wanted);
  busy.value = true;
  try {
    const list = await get('calls', { filter: wanted, limit: PAGE });
    if (mine !== turn) return;
    batch(() => {
      shown.value = list.calls;
      fresh.value = [];
      page.value = list;
      refused.value = null;
    });
  } catch (fault) {
    if (mine === turn) refused.value = fault;
  }
  if (mine === turn) busy.value = false;
}

/** Older ones. */
export async function more() {
  const list = shown.value;
  const from = page.value.next ?? list.at(-1)?.id;
  if (busy.value || !page.value.more || from === undefined || list.length >= MOST) return;
  busy.value = true;
  const mine = turn;
  try {
    const older = await get('calls', { filter, limit: PAGE, before: from });
    if (mine === turn) {
      batch(() => {
        shown.value = [...shown.value, ...older.calls];
        const { more, next, partial } = older;
        const matching = page.value.matching + (page.value.partial ? older.matching : 0);
        page.value = { ...page.value, more, next, partial, matching };
      });
    }
  } catch (fault) {
    if (mine === turn) refused.value = fault;
  }
  busy.value = false;
}

/** Puts what is new on top. */
export function release() {
  if (fresh.value.length === 0) return;
  batch(() => {
    shown.value = [...fresh.value, ...shown.value].slice(0, MOST);
    fresh.value = [];
  });
}

export function setPaused(value) {
  if (paused.value === value) return;
  paused.value = value;
  if (!value) release();
}

export function stop() {
  filter = null;
  turn += 1;
  wantCalls(null);
}

hear((event) => {
  if (event.kind === 'reset' && filter !== null) show(lastFilter.value);
  if (event.kind !== 'call' || filter === null) return;
  // Which calls say a text only the gateway knows.
  if (filter.includes('"')) return again();
  pending.set(event.call.id, event.call);
  if (!asked) {
    asked = true;
    // Once for each frame, however many there are.
    requestAnimationFrame(take);
  }
});

let waits = null;

/** Reads the list once more, soon: at most once a second. */
function again() {
  waits ??= setTimeout(() => {
    waits = null;
    if (filter?.includes('"') && !paused.value) show(lastFilter.value);
  }, 1000);
}

/** Where a call is in a list that falls by id, or where it would be. */
function place(list, id) {
  let [low, high] = [0, list.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if (list[middle].id > id) low = middle + 1;
    else high = middle;
  }
  return low;
}

const newest = (one, other) => other.id - one.id;

/** Two lists as one, of which both fall by id: mostly the first is newer altogether. */
function joined(first, second) {
  if (first.length === 0) return second;
  const both = first.concat(second);
  if (second.length && first.at(-1).id < second[0].id) both.sort(newest);
  if (both.length > MOST) both.length = MOST;
  return both;
}

function take() {
  asked = false;
  const [known, waiting, added] = [shown.value.slice(), fresh.value.slice(), []];
  for (const call of pending.values()) {
    let at = place(known, call.id);
    if (known[at]?.id === call.id) {
      known[at] = call;
      continue;
    }
    at = place(waiting, call.id);
    if (waiting[at]?.id === call.id) waiting[at] = call;
    else if (call.id > (known[0]?.id ?? 0)) added.push(call);
  }
  pending = new Map();
  added.sort(newest);
  batch(() => {
    page.value = {
      ...page.value,
      total: page.value.total + added.length,
      matching: page.value.matching + added.length,
    };
    if (paused.value) {
      shown.value = known;
      fresh.value = joined(added, waiting);
    } else {
      shown.value = joined(joined(added, waiting), known);
      fresh.value = [];
    }
  });
}
