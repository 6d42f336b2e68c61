// A server from any client's snippet: explained, shown as a difference, then written.
import { html, signal, useEffect, useRef, useState } from '../html.js';
import { post } from '../api.js';
import { href } from '../router.js';
import { may } from '../session.js';
import { gateway } from '../store.js';
import { visible } from './format.js';
import { Patch } from './diff.js';
import { Tree } from './tree.js';
import { attempt, Button, Chip, Fault, Segments, toast } from './ui.js';

const EXAMPLES = [
  ['a command', 'npx -y @modelcontextprotocol/server-everything'],
  ['an address', 'https://mcp.example.com/mcp'],
  [
    'JSON of a client',
    '{\n  "mcpServers": {\n    "files": { "command": "npx", "args": ["-y", "@modelcontextprotocol/server-filesystem", "/tmp"] }\n  }\n}',
  ],
  ['TOML of a client', '[mcp_servers.docs]\nurl = "https://mcp.example.com/mcp"'],
];

/** What was pasted: whoever goes to the inbox for an approval finds it again. */
const pasted = signal('');

export function AddServer() {
  const text = pasted.value;
  const setText = (next) => {
    pasted.value = next;
  };
  const [understood, setUnderstood] = useState(null);
  const [fault, setFault] = useState(null);
  useEffect(() => {
    if (!text.trim()) {
      setUnderstood(null);
      setFault(null);
      return undefined;
    }
    const stop = new AbortController();
    const timer = setTimeout(() => {
      post('settings/read', { text }, stop.signal).then(
        (said) => {
          setUnderstood(said);
          setFault(null);
        },
        (refused) => {
          if (refused.name !== 'AbortError') {
            setFault(refused);
            setUnderstood(null);
          }
        },
      );
    }, 350);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [text]);
  return html`<div class="halves">
    <section class="card stack"><h2>Paste what the server's page says</h2>
      <label class="field"><span
        class="about">JSON or TOML of any client, a command line, or an address. Nothing runs, and nothing is written, before you say so.</span>
        <textarea rows="12" spellcheck="false" placeholder="npx -y …" value=${text} onInput=${(event) => setText(event.target.value)}
          data-testid="snippet"></textarea></label>
      <div class="row"><span class="quiet small">For example</span>${EXAMPLES.map(([label, example]) => html`<${Button} small key=${label}
        onClick=${() => setText(example)}>${label}<//>`)}</div>
      ${!gateway.value.edits && html`<p
        class="note">Settings are not changed over this page here: what you add becomes a proposal in the inbox, or <code>switchboard add</code> does it in a terminal.</p>`}
      ${!may('admin') && html`<p class="note">Your role may look, not write.</p>`}</section>
    <div class="stack"><${Fault} of=${fault} />
      ${
        understood
          ? html`${understood.faults.map((one, at) => html`<${Fault} key=${at} of=${one} />`)}
        <p class="quiet small">Read as ${visible(understood.form)}.</p>
        ${understood.servers.map((server) => html`<${Proposed} key=${`${server.name}${text}`} proposed=${server} />`)}`
          : !fault && html`<p class="card quiet">What it would do is explained here, line by line.</p>`
      }</div></div>`;
}

/** An entry that could be added; `from` where it is another client's, and `folder` where it is for this folder alone. */
export function Proposed({ proposed, from, folder }) {
  const [name, setName] = useState(proposed.name);
  const [scope, setScope] = useState(folder ? 'local' : 'user');
  const [written, setWritten] = useState(null);
  const [fault, setFault] = useState(null);
  const change = (confirm) =>
    attempt(async () => {
      setFault(null);
      const what = from ? { from } : { entry: proposed.entry };
      const said = await post('settings/change', { what: 'add', name, ...what, scope, confirm });
      setWritten(said);
      if (said.written) toast(`${name} was added to ${said.file}`);
    }, setFault);
  useEffect(() => setWritten(null), [name, scope]);
  const outcome = useRef(null);
  // What came of pressing the button is seen, wherever it stands.
  useEffect(() => outcome.current?.scrollIntoView({ block: 'nearest' }), [written]);
  return html`<section class="card stack" data-testid="proposed" data-proposed=${proposed.name}><div class="row"><h2>${visible(name)}
    </h2>${proposed.replaces && html`<${Chip} kind="warn">replaces ${visible(proposed.replaces)}<//>`}</div>
    <div class="block lines hang" data-testid="explained">${proposed.explained.map((line, at) => html`<span key=${at}>${visible(line)}</span>`)}
      </div>
    <details><summary>The entry, as it would be written</summary><${Tree} value=${proposed.entry} /></details>
    <div class="row"><label class="row">Name <input value=${name} onInput=${(event) => setName(event.target.value)} /></label><${Segments}
      label="for whom" value=${scope} onChange=${setScope} options=${[
      ...(folder ? [] : [['user', 'for me', "in the user's own file"]]),
      ['local', 'for this folder', 'for me, in this folder alone'],
    ]} /></div>
    <${Fault} of=${fault} />
    ${
      !written
        ? html`<div><${Button} kind="primary" disabled=${!may('admin') || !name.trim()} onClick=${() => change()}
          data-testid="show-difference">Show the difference<//></div>`
        : written.written
          ? html`<p class="note" role="status" ref=${outcome}>Written to <code>${visible(written.file)}</code>. <a
            href=${href(['servers', name])}>Go to it</a>${written.question ? html`; it waits for your <a
            href=${href(['inbox', written.question])}>approval</a>` : null}.</p>`
          : html`<p><code>${visible(written.file)}</code></p><${Patch} lines=${written.difference} />
        ${written.question ? html`<div class="note warn stack" role="status" ref=${outcome}><p><strong>Not written yet.</strong> It brings a command, so that it waits for an approval.</p>
          <div><a class="button primary" href=${href(['inbox', written.question])} data-testid="to-approval">Answer it in the inbox</a></div></div>` : html`<div class="row" ref=${outcome}>
          <${Button} kind="primary" onClick=${() => change(written.digest)} data-testid="write">Write it<//><${Button}
          onClick=${() => setWritten(null)}>Do not<//></div>`}`
    }
  </section>`;
}
