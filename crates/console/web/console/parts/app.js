// A tool's result in the page that its server brings for it (MCP Apps): in a frame without
// any of our rights, which speaks with us by messages alone.
import { html, useEffect, useRef, useState } from '../html.js';
import { ask, get, part, post } from '../api.js';
import { parse } from '../json.js';
import { isForPages, pageOf, speak } from './bridge.js';
import { line, safeLink, visible } from './format.js';
import { Tree } from './tree.js';
import { Button, Dialog, Fault, Link } from './ui.js';

/** How high a frame may be, whatever its page says. */
const [LOWEST, HIGHEST] = [120, 900];
/** How many lines are kept of what a page did. */
const LINES = 50;

const isDark = () => {
  const { theme } = document.documentElement.dataset;
  return theme ? theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
};

/** The page of a tool, once somebody wants to see it. */
export function AppOf({ server, tool, given, result }) {
  const uri = pageOf(tool) ?? pageOf(result);
  const [opened, setOpened] = useState(null);
  const [fault, setFault] = useState(null);
  const [busy, setBusy] = useState(false);
  if (!uri) return null;
  const open = async (reach, confirmed = false) => {
    setBusy(true);
    setFault(null);
    try {
      setOpened({ ...(await post('apps', { server, uri, reach, confirmed })), reach });
    } catch (refused) {
      setFault(refused.code === 'confirm' ? { ...refused, message: refused.message, sure: true } : refused);
    }
    setBusy(false);
  };
  return html`<section class="stack app" aria-label="The tool's page" data-testid="app-part">
    <div class="row"><h3>The tool's page</h3><code class="small">${line(uri, 120)}</code><span class="grow"></span>
      ${opened ? html`<${Button} small onClick=${() => setOpened(null)} data-testid="app-close">Close it<//>` : html`<${Button} small
        disabled=${busy} onClick=${() => open(false)} data-testid="app-open">${busy ? 'Reading…' : 'Show it'}<//>`}</div>
    <${Fault} of=${fault} again=${fault?.sure ? () => open(false, true) : undefined} />
    ${!opened && !fault && html`<p class="quiet small">The server brings a page for this. It runs in a frame of its own: it reaches neither this page nor any host, and what it calls is listed under Traffic.</p>`}
    ${
      opened &&
      opened.wants.length > 0 &&
      html`<div class="note row" data-testid="app-wants"><span>${opened.reach ? 'It may reach' : 'It asks to reach'} <strong>${line(opened.wants.join(', '), 300)}</strong>${opened.reach ? '.' : '; so far it may not.'}</span><span class="grow"></span>
        ${!opened.reach && html`<${Button} small onClick=${() => open(true)} data-testid="app-reach">Let it<//>`}</div>`
    }
    ${opened && html`<${Framed} key=${opened.address} opened=${opened} server=${server} tool=${tool} given=${given} result=${result} />`}
  </section>`;
}

function Framed({ opened, server, tool, given, result }) {
  const frame = useRef(null);
  const [height, setHeight] = useState(240);
  const [did, setDid] = useState([]);
  const [asked, setAsked] = useState(null);
  const [stopped, setStopped] = useState(null);
  const says = (what, text) => setDid((before) => [...before.slice(1 - LINES), { what, text: line(text, 300) }]);
  useEffect(() => {
    let known = null;
    /** Asks the person at this page. */
    const person = (question) =>
      new Promise((settle, refuse) => {
        setAsked({
          ...question,
          yes: () => {
            setAsked(null);
            settle();
          },
          no: () => {
            setAsked(null);
            refuse(new Error('the person at the page said no'));
          },
        });
      });
    /** A call of the page's: of its own server alone, under the rules that hold here. */
    const make = async (body, question) => {
      const sent = (confirmed) => ask('POST', 'calls', { text: `${body.slice(0, -1)},"confirmed":${confirmed}}` });
      /** @type {any} */
      let made;
      try {
        made = await sent(false);
      } catch (refused) {
        if (refused.code !== 'confirm') throw refused;
        await person({ ...question, why: refused.message });
        made = await sent(true);
      }
      if (made.error) throw Object.assign(new Error(made.error.message), { code: made.error.code });
      return made.result;
    };
    const host = {
      context: () => ({
        theme: isDark() ? 'dark' : 'light',
        displayMode: 'inline',
        availableDisplayModes: ['inline'],
        locale: navigator.language,
        timeZone: Intl.DateTimeFormat().resolvedOptions().timeZone,
        platform: 'web',
        userAgent: 'switchboard-console',
        containerDimensions: { width: frame.current?.clientWidth ?? 0, maxHeight: HIGHEST },
        toolInfo: { tool: JSON.parse(JSON.stringify(tool)) },
      }),
      began: () => {
        bridge.tell('ui/notifications/tool-input', { arguments: JSON.parse(given) });
        bridge.tell('ui/notifications/tool-result', JSON.parse(JSON.stringify(result)));
      },
      call: async (name, text) => {
        known ??= (await get(`servers/${part(server)}/tools`)).items;
        const found = known.find((one) => one.name === name);
        if (!found || !isForPages(found)) {
          says('was refused the tool', name);
          throw new Error('this server has no tool of this name for pages');
        }
        says('calls', `${name} ${text}`);
        const head = JSON.stringify({ server, method: 'tools/call', name });
        return make(`${head.slice(0, -1)},"arguments":${text}}`, {
          title: `The page wants to call ${name}`,
          about: parse(text),
        });
      },
      read: (uri) => {
        says('reads', uri);
        return make(JSON.stringify({ server, method: 'resources/read', name: uri }), {
          title: `The page wants to read ${uri}`,
        });
      },
      open: async (url) => {
        if (!safeLink(url)) throw new Error('only http and https are opened');
        says('wants to open', url);
        await person({ title: 'The page wants to open an address', link: url });
        return {};
      },
      said: (what, text) => {
        says(what, text);
        return {};
      },
      grows: (wanted) => setHeight(Math.round(Math.min(Math.max(wanted, LOWEST), HIGHEST))),
      stopped: setStopped,
    };
    const bridge = speak(frame.current, host);
    return () => bridge.stop();
  }, []);
  if (stopped) return html`<p class="note warn" role="alert" data-testid="app-stopped">The page was stopped. ${stopped}</p>`;
  return html`<iframe ref=${frame} sandbox="allow-scripts" allow="" referrerpolicy="no-referrer" class=${opened.border ? 'border' : ''}
      title="A page of the server's" style=${{ height: `${height}px` }} src=${opened.address} data-testid="app"></iframe>
    ${did.length > 0 && html`<details data-testid="app-did"><summary>What it did (${did.length})</summary><div
      class="block lines">${did.map((one, at) => html`<span key=${at}>${one.what} ${one.text}</span>`)}</div></details>`}
    ${asked && html`<${Dialog} title=${line(asked.title, 120)} onClose=${asked.no} foot=${html`<${Button} onClick=${asked.no}
      data-testid="app-no">Do not<//><${Button} kind="primary" onClick=${asked.yes}
      data-testid="app-yes">${asked.link ? 'Done' : 'Let it'}<//>`}>${asked.why && html`<p>${visible(asked.why)}</p>`}
      ${asked.about !== undefined && html`<${Tree} value=${asked.about} open=${3} />`}
      ${asked.link && html`<p><${Link} to=${asked.link} /></p>`}<//>`}`;
}
