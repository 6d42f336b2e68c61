// What is said between us and a page of a server's (MCP Apps). The page has an origin that
// is nobody's: what it sends is known by its frame alone, and is never more than data here.

/** The revision of the extension that is spoken. */
const VERSION = '2026-01-26';
/** How many messages and calls of a page are taken in a second; who sends more is stopped. */
const MESSAGES = 200;
const CALLS = 10;
/** How large what a page sends may be, as text. */
const LARGEST = 1_000_000;

const NO_METHOD = -32601;
const BAD_PARAMS = -32602;
const FAILED = -32000;

/** The page that a tool names, or null. */
export function pageOf(definition) {
  const about = definition?._meta;
  const uri = about?.ui?.resourceUri ?? about?.['ui/resourceUri'];
  return typeof uri === 'string' && /^ui:\/\//i.test(uri) ? uri : null;
}

/** Whether a page may call a tool: without a word about it, it may. */
export function isForPages(definition) {
  const visible = definition?._meta?.ui?.visibility;
  return !Array.isArray(visible) || visible.includes('app');
}

class Wrong extends Error {
  constructor(code, message) {
    super(message);
    this.code = code;
  }
}

/** Text of JSON for what a page sent: it may be anything that can be copied. */
function written(value) {
  let text;
  try {
    text = JSON.stringify(value ?? {});
  } catch {
    throw new Wrong(BAD_PARAMS, 'this is no JSON');
  }
  if (text === undefined || text.length > LARGEST) throw new Wrong(BAD_PARAMS, 'this is too large, or no JSON');
  return text;
}

const word = (value) => (typeof value === 'string' ? value.slice(0, 2000) : '');

/**
 * Speaks with a frame until it is told to stop. `host` does what the page asks for:
 * `context()`, `began()`, `call(name, text)`, `read(uri)`, `open(url)`, `said(what, text)`,
 * `grows(height)`, `stopped(why)`.
 */
export function speak(frame, host) {
  let over = false;
  let began = false;
  let second = 0;
  let [messages, calls] = [0, 0];

  // Its origin cannot be named. Whatever else the frame could be led to is of our own
  // policy's `frame-src`, and lets nobody frame it.
  const send = (message) => !over && frame.contentWindow?.postMessage({ jsonrpc: '2.0', ...message }, '*');

  const METHODS = {
    'ui/initialize': () => ({
      protocolVersion: VERSION,
      hostInfo: { name: 'switchboard-console', version: '1' },
      hostCapabilities: { openLinks: {}, serverTools: {}, serverResources: {}, logging: {} },
      hostContext: host.context(),
    }),
    ping: () => ({}),
    'tools/call': (params) => host.call(word(params.name), written(params.arguments)),
    'resources/read': (params) => host.read(word(params.uri)),
    'ui/open-link': (params) => host.open(word(params.url)),
    'ui/message': (params) => host.said('says', written(params)),
    'ui/update-model-context': (params) => host.said('tells the model', written(params)),
    'ui/request-display-mode': () => ({ mode: 'inline' }),
  };
  const NOTICES = {
    'ui/notifications/initialized': () => {
      if (began) return;
      began = true;
      host.began();
    },
    'ui/notifications/size-changed': (params) => Number.isFinite(params.height) && host.grows(params.height),
    'notifications/message': (params) => host.said('logs', written(params.data ?? params)),
  };

  const stop = (why) => {
    over = true;
    removeEventListener('message', on);
    if (why) host.stopped(why);
  };

  async function answer(id, method, params) {
    try {
      if (!Object.hasOwn(METHODS, method)) throw new Wrong(NO_METHOD, 'there is no such method here');
      if (method === 'tools/call' || method === 'resources/read') {
        calls += 1;
        if (calls > CALLS) throw new Wrong(FAILED, 'too many calls in a second');
      }
      send({ id, result: (await METHODS[method](params)) ?? {} });
    } catch (fault) {
      const code = Number.isInteger(fault.code) ? fault.code : FAILED;
      send({ id, error: { code, message: String(fault.message ?? 'it failed').slice(0, 500) } });
    }
  }

  function on(event) {
    if (over || event.source !== frame.contentWindow || event.origin !== 'null') return;
    const now = Math.floor(event.timeStamp / 1000);
    if (now !== second) [second, messages, calls] = [now, 0, 0];
    messages += 1;
    if (messages > MESSAGES) {
      stop('It sent too many messages.');
      return;
    }
    const said = event.data;
    if (typeof said !== 'object' || said === null || said.jsonrpc !== '2.0' || typeof said.method !== 'string') return;
    const params = typeof said.params === 'object' && said.params !== null ? said.params : {};
    if (typeof said.id === 'string' || typeof said.id === 'number') {
      answer(said.id, said.method, params);
      return;
    }
    if (!Object.hasOwn(NOTICES, said.method)) return;
    try {
      NOTICES[said.method](params);
    } catch {
      // A notice that says nothing gets no answer.
    }
  }

  addEventListener('message', on);
  return {
    /** What it was shown for: the arguments and the result. */
    tell: (method, params) => send({ method, params }),
    stop: () => {
      send({ id: 'end', method: 'ui/resource-teardown', params: { reason: 'closed' } });
      stop(null);
    },
  };
}
