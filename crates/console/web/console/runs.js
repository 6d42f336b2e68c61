// Calls that are made by a tool's form: what was typed and what came back stay while somebody
// looks elsewhere, as at the question that the call waits for.
import { effect, signal } from './html.js';
import { ask } from './api.js';
import { hear } from './store.js';
import { token } from './session.js';

/** Of how many tools that is kept. */
const MOST = 20;

/** By tool, the one that was used last at the end. */
const kept = new Map();
/** Open questions of calls that were made here, newest last: ids, servers, texts. */
const asked = signal([]);

/** What is kept of a tool as it is defined now: another definition begins anew. */
export function runOf(key, href, server, definition) {
  const written = JSON.stringify(definition ?? null);
  let run = kept.get(key);
  kept.delete(key);
  if (run?.written !== written)
    run = {
      written,
      href,
      server,
      typed: {},
      made: signal(null),
      fault: signal(null),
      asking: signal(null),
      busy: signal(null),
      stop: null,
      questions: new Set(),
    };
  kept.set(key, run);
  for (const [old, one] of kept) {
    if (kept.size <= MOST) break;
    if (!one.busy.value) kept.delete(old);
  }
  return run;
}

/** Makes the call; `text` is what is sent, `given` its arguments. */
export async function make(run, text, given) {
  if (run.busy.value) return;
  run.asking.value = null;
  run.fault.value = null;
  run.made.value = null;
  run.busy.value = Date.now();
  run.stop = new AbortController();
  try {
    run.made.value = { ...(await ask('POST', 'calls', { text, signal: run.stop.signal })), given };
  } catch (refused) {
    if (refused.code === 'confirm') run.asking.value = refused;
    else if (refused.name === 'AbortError') run.fault.value = { message: 'You cancelled the call.' };
    else run.fault.value = refused;
  }
  run.busy.value = null;
}

/** What the server of a call that runs asks meanwhile, or null. */
export const questionOf = (run) => (run.busy.value ? (asked.value.find((one) => run.questions.has(one.id)) ?? null) : null);

/** Where the call of a question was made here, or null. */
export function madeAt(id) {
  for (const run of kept.values()) if (run.questions.has(id)) return run.href;
  return null;
}

hear((event) => {
  if (event.kind !== 'question') return;
  const { question } = event;
  const others = asked.value.filter((one) => one.id !== question.id);
  if (question.status !== 'open') {
    if (others.length < asked.value.length) asked.value = others;
    return;
  }
  if (question.client !== 'switchboard-console') return;
  const runs = [...kept.values()].filter((one) => one.busy.value && one.server === question.server);
  for (const run of runs) run.questions.add(question.id);
  if (runs.length) asked.value = [...others, question].slice(-MOST);
});

// Whoever comes next finds nothing of it.
effect(() => {
  if (token.value) return;
  for (const run of kept.values()) run.stop?.abort();
  kept.clear();
});
