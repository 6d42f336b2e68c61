// What is configured: adding servers, files and entries, clients, tokens.
import { html, useState } from '../html.js';
import { get, part, post, remove } from '../api.js';
import { href } from '../router.js';
import { may } from '../session.js';
import { clients, gateway, settingsRead } from '../store.js';
import { line, visible } from '../parts/format.js';
import { AddServer } from '../parts/add.js';
import { Imports } from '../parts/imports.js';
import { Patch } from '../parts/diff.js';
import { Tree } from '../parts/tree.js';
import {
  attempt,
  Button,
  Chip,
  Copy,
  Dialog,
  Empty,
  Fault,
  Skeleton,
  Tabs,
  toast,
  useRead,
  When,
  Word,
} from '../parts/ui.js';

const TABS = [
  ['add', 'Add a server'],
  ['import', 'From other clients'],
  ['files', 'Files and entries'],
  ['clients', 'Connect a client'],
  ['tokens', 'Tokens'],
];

export function Setup({ tab }) {
  return html`<div class="page"><div class="head"><h1>Set-up</h1></div><${Tabs} tabs=${TABS} at=${tab}
    to=${(key) => href(['setup', key])} />
    ${tab === 'files' ? html`<${Files} />` : tab === 'import' ? html`<${Imports} />` : tab === 'clients' ? html`<${Clients} />` : tab === 'tokens' ? html`<${Tokens} />` : html`<${AddServer} />`}
      </div>`;
}

function Files() {
  const read = useRead((signal) => get('settings', null, signal), [settingsRead.value]);
  const [gone, setGone] = useState(null);
  if (!read.value) return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} />`;
  const { entries, faults } = read.value;
  const files = read.value.files.filter((file) => file.exists || entries.some((entry) => entry.file === file.path));
  const absent = read.value.files.filter((file) => !files.includes(file));
  const propose = (entry) =>
    attempt(async () =>
      setGone({
        entry,
        written: await post('settings/change', { what: 'remove', name: entry.name, scope: entry.scope }),
      }),
    );
  const write = () =>
    attempt(async () => {
      await post('settings/change', {
        what: 'remove',
        name: gone.entry.name,
        scope: gone.entry.scope,
        confirm: gone.written.digest,
      });
      toast(`${gone.entry.name} was removed`);
      setGone(null);
      read.again();
    });
  return html`${faults.map((fault, at) => html`<${Fault} key=${at} of=${fault} />`)}
    <div class="stack">${files.map((file) => {
      const own = entries.filter((entry) => entry.file === file.path);
      return html`<section class="card stack" key=${file.path} data-testid="file"><div class="row"><${Chip}>${file.scope}<//>
        <code>${visible(file.path)}</code>${!file.exists && html`<span
        class="quiet small">not there</span>`}${file.writable ? null : html`<${Chip}>read only<//>`}<span class="grow"></span></div>
        ${own.map(
          (
            entry,
          ) => html`<details key=${`${entry.name}${entry.line}`}><summary class="row"><strong>${visible(entry.name)}</strong> <${Word}
            word=${entry.status} /> <span class="quiet small">line ${entry.line}</span> ${entry.why && html`<span
            class="quiet small">${line(entry.why, 160)}</span>`}</summary>
          <div class="stack"><${Tree} value=${entry.entry} />${file.writable && may('admin') && gateway.value.edits && html`<div>
            <${Button} small kind="danger" onClick=${() => propose(entry)}>Remove…<//></div>`}</div></details>`,
        )}
        ${own.length === 0 && file.exists && html`<p class="quiet small">No servers in it.</p>`}</section>`;
    })}</div>
    ${absent.length > 0 && html`<details><summary>${absent.length} more places that are looked at, where nothing is</summary><div
      class="stack">${absent.map((file) => html`<div class="row" key=${file.path}><${Chip}>${file.scope}<//><code>${visible(file.path)}
      </code></div>`)}</div></details>`}
    ${gone && html`<${Dialog} wide title=${`Remove ${gone.entry.name}`} onClose=${() => setGone(null)} foot=${html`<${Button}
      onClick=${() => setGone(null)}>Do not<//><${Button} kind="danger" onClick=${write}>Remove it<//>`}><p>
      <code>${visible(gone.written.file)}</code></p><${Patch} lines=${gone.written.difference} /><//>`}`;
}

const PROGRAMS = [
  ['claude-code', 'Claude Code'],
  ['claude-desktop', 'Claude Desktop'],
  ['cursor', 'Cursor'],
  ['vscode', 'VS Code'],
  ['codex', 'Codex'],
  ['gemini', 'Gemini CLI'],
  ['windsurf', 'Windsurf'],
  ['zed', 'Zed'],
  ['opencode', 'OpenCode'],
  ['goose', 'goose'],
];

function Clients() {
  const at = gateway.value.address;
  const url = `${/^https?:/.test(at) ? at : `http://${at}`}/mcp`.replace('//mcp', '/mcp');
  const entry = JSON.stringify(
    { mcpServers: { switchboard: { type: 'http', url, headers: { Authorization: 'Bearer TOKEN' } } } },
    null,
    2,
  );
  return html`<div class="halves"><section class="card stack"><h2>By one command</h2>
    <p>This writes the entry into the client's own file, keeps what it replaces, and can be undone by <code>switchboard disconnect</code>.</p>
      <table class="keys"><tbody>${PROGRAMS.map(([key, label]) => html`<tr key=${key}><td>${label}</td><td><code>switchboard connect ${key}
        </code></td><td><${Copy} text=${`switchboard connect ${key}`} /></td></tr>`)}</tbody></table></section>
    <section class="card stack"><h2>By hand</h2><p>Any client that speaks streamable HTTP; the token is made under <a
      href=${href(['setup', 'tokens'])}>Tokens</a>.</p><pre class="command">${entry}</pre><div><${Copy} text=${entry} /></div>
      <h2>Connected now</h2>${clients.value.length === 0 ? html`<p class="quiet">Nobody.</p>` : html`<table><thead><tr><th>Client</th>
        <th>As</th><th>Era</th><th>Seen</th></tr></thead><tbody>${clients.value.map((client, place) => html`<tr key=${place}>
        <td>${line(client.name ?? 'unnamed', 60)} <span class="quiet">${line(client.version ?? '', 20)}</span></td>
        <td>${line(client.principal, 40)}</td><td>${client.era}</td><td>${client.seen ? html`<${When} at=${client.seen} />` : 'now'}</td></tr>`)}</tbody>
        </table>`}</section></div>`;
}

function Tokens() {
  const read = useRead((signal) => get('tokens', null, signal), [settingsRead.value]);
  const [name, setName] = useState('');
  const [made, setMade] = useState(null);
  const [going, setGoing] = useState(null);
  if (!may('admin')) return html`<p class="note">Tokens are for those who may change settings.</p>`;
  if (!read.value) return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} />`;
  const make = (event) => {
    event.preventDefault();
    return attempt(async () => {
      setMade(await post('tokens', { name: name.trim() }));
      setName('');
      read.again();
    });
  };
  const revoke = () =>
    attempt(async () => {
      await remove(`tokens/${part(going)}`);
      toast(`${going} was revoked: whatever it had open has ended`);
      setGoing(null);
      read.again();
    });
  return html`<form class="row" onSubmit=${make}><label class="row">A token for <input value=${name} placeholder="laptop"
    onInput=${(event) => setName(event.target.value)} data-testid="token-name" /></label><${Button} kind="primary" type="submit"
    disabled=${!name.trim()} data-testid="make-token">Make it<//></form>
    ${read.value.tokens.length === 0 ? html`<${Empty}
      title="No tokens yet">Each client gets one of its own, so that each can be revoked alone and is seen by its name.<//>` : html`<div
      class="table"><table><thead><tr><th>Name</th><th>Made</th><th>Last used</th><th class="right">Sessions</th><th
      class="right">In flight</th><th><span class="hidden-label">what to do</span></th></tr></thead>
      <tbody>${read.value.tokens.map((token) => html`<tr key=${token.name} data-testid="token"><td><strong>${visible(token.name)}</strong>
      </td><td><${When} at=${token.made} /></td><td>${token.used ? html`<${When} at=${token.used} />` : html`<span class="quiet">not since this gateway began</span>`}</td><td class="right">${token.sessions}</td><td
      class="right">${token.inFlight}</td><td class="right"><${Button} small kind="danger" onClick=${() => setGoing(token.name)}>Revoke…<//>
      </td></tr>`)}</tbody></table></div>`}
    ${made && html`<${Dialog} title=${`The token of ${made.name}`} onClose=${() => setMade(null)} foot=${html`<${Button} kind="primary"
      onClick=${() => setMade(null)}>Done<//>`}><p>This is the only time that it is shown here. It is kept in <code>${visible(made.file)}
      </code>.</p><pre class="command" data-testid="token-secret">${made.token}</pre><div><${Copy} text=${made.token} /></div><//>`}
    ${going && html`<${Dialog} title=${`Revoke ${going}?`} onClose=${() => setGoing(null)} foot=${html`<${Button}
      onClick=${() => setGoing(null)}>Keep it<//><${Button} kind="danger" onClick=${revoke} data-testid="revoke">Revoke<//>`}>
      <p>Whatever is open under it ends at once. This cannot be undone; another token can be made.</p><//>`}`;
}
