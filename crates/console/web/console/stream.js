// An event stream by `fetch`, so that the token is a header. Says where it stands, comes
// back by itself, and never holds more of a line than it should.
import { address } from './api.js';
import { token, forget } from './session.js';

const LONGEST = 8 * 1024 * 1024;
const PAUSES = [300, 700, 1500, 3000, 6000];
// Milliseconds: until there is an answer, and without a word. A stream says every 15 s that it is there.
const PATIENCE = { answer: 10_000, silence: 35_000 };

/** Follows a stream until it is closed. `on.event(event, id)`, `on.state(word)`. */
export function follow(query, on, patience = PATIENCE) {
  const stop = new AbortController();
  let since = query.since;
  let failures = 0;

  const run = async () => {
    while (!stop.signal.aborted) {
      on.state(failures ? 'lost' : 'connecting');
      // One that hangs is as good as gone, and given up for another.
      const hangs = new AbortController();
      let timer = setTimeout(() => hangs.abort(), patience.answer);
      const heard = () => {
        clearTimeout(timer);
        timer = setTimeout(() => hangs.abort(), patience.silence);
      };
      try {
        const headers = { accept: 'text/event-stream', authorization: `Bearer ${token.value}` };
        const answer = await fetch(address('events', { ...query, since }), {
          headers,
          signal: AbortSignal.any([stop.signal, hangs.signal]),
          credentials: 'omit',
          cache: 'no-store',
        });
        if (answer.status === 401) return forget('Your session has ended.');
        if (!answer.ok || !answer.body) throw new Error(`events: ${answer.status}`);
        failures = 0;
        on.state('live');
        heard();
        await events(answer.body, heard, (event, id) => {
          if (id !== null) since = id;
          on.event(event, id);
        });
      } catch {
        // Whatever it was: it is tried again, and the page says that it is not live.
      } finally {
        clearTimeout(timer);
      }
      if (stop.signal.aborted) return;
      failures += 1;
      on.state('lost');
      await pause(PAUSES[Math.min(failures, PAUSES.length) - 1], stop.signal);
    }
  };
  run();
  return () => stop.abort();
}

function pause(time, signal) {
  return new Promise((done) => {
    const timer = setTimeout(done, time);
    signal.addEventListener(
      'abort',
      () => {
        clearTimeout(timer);
        done();
      },
      { once: true },
    );
  });
}

/** Reads events out of a body; `heard` is told of everything that comes. */
async function events(body, heard, on) {
  const reader = body.pipeThrough(new TextDecoderStream()).getReader();
  let rest = '';
  let data = [];
  let id = null;
  for (;;) {
    const { value, done } = await reader.read();
    if (done) return;
    heard();
    rest += value;
    if (rest.length > LONGEST) throw new Error('an event without an end');
    const lines = rest.split(/\r\n|\n|\r/);
    rest = lines.pop();
    for (const line of lines) {
      if (line === '') {
        if (data.length) on(JSON.parse(data.join('\n')), id);
        data = [];
      } else if (line.startsWith('data:')) {
        data.push(line.slice(line[5] === ' ' ? 6 : 5));
      } else if (line.startsWith('id:')) {
        const number = Number(line.slice(3).trim());
        id = Number.isFinite(number) ? number : null;
      }
    }
  }
}
