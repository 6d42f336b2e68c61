// One server: how it is, what it said, what it lists, what can be done with it.
import { html, useEffect, useState } from '../html.js';
import { get, part, post } from '../api.js';
import { useKeys } from '../keys.js';
import { go, href } from '../router.js';
import { may } from '../session.js';
import { listed, serverNamed, stale } from '../store.js';
import { bytes, line, plural, visible } from '../parts/format.js';
import { LogLevel, Roots, Tasks } from '../parts/extras.js';
import { Lists } from '../parts/lists.js';
import { Pins } from '../parts/pins.js';
import { SignSteps } from '../parts/signsteps.js';
import { Tree } from '../parts/tree.js';
import { attempt, Button, Chip, Dialog, Fault, Hint, Link, Skeleton, State, Tabs, toast, useRead, When, Word } from '../parts/ui.js';

export function ServerPage({ name, tab, item }) {
  const known = serverNamed(name);
  const read = useRead(
    (signal) => get(`servers/${part(name)}`, null, signal),
    [name, known?.state.word, known?.usable.word, known?.signIn.word, listed.value[known?.name]],
  );
  useKeys([
    ['Escape', 'all servers', () => go('servers')],
    ['r', 'reconnect', () => may('operator') && act('reconnect')],
  ]);
  const [opened, setOpened] = useState(null);
  // Whoever signed in at the page that was opened is done here.
  useEffect(() => {
    if (known?.signIn.word === 'signed-in') setOpened(null);
  }, [known?.signIn.word]);
  /**
   * @param {'reconnect' | 'enable' | 'disable' | 'sign-in' | 'sign-out' | 'approve' | 'reject'} verb
   * @param {object} [body]
   */
  const act = (verb, body) =>
    attempt(
      async () => {
        const done = await post(`servers/${part(name)}/${verb}`, body ?? {});
        toast(done.did || 'Done');
        if (done.open) setOpened(done.open);
        read.again();
      },
      (fault) => {
        toast(fault.hint ? `${fault.message}: ${fault.hint}` : fault.message, 'bad');
        // Why is told there, step by step.
        if (verb === 'sign-in') go(['servers', name, 'sign-in'], { tried: String(Date.now()) });
      },
    );
  const server = known ?? read.value?.server;
  if (!server)
    return html`<div class="page"><${Crumbs} />${read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton}
      rows=${6} />`}</div>`;
  const detail = read.value;
  /** @type {any} */
  const capabilities = detail?.capabilities;
  const tabs = [
    ['overview', 'Overview'],
    ['tools', 'Tools', server.tools],
    ['resources', 'Resources', server.resources],
    ['prompts', 'Prompts', server.prompts],
    ...(capabilities?.tasks || tab === 'tasks' ? [['tasks', 'Tasks']] : []),
    ...(server.held > 0 || tab === 'pins' ? [['pins', 'Changed', server.held]] : []),
    ...(['http', 'sse', 'ws'].includes(server.transport) ? [['sign-in', 'Sign-in']] : []),
    ['stderr', 'Log'],
    ['handshake', 'Handshake'],
    ['explain', 'Explain'],
  ];
  return html`<div class="page" data-testid="server-page"><div class="head"><${Crumbs} /><h1>${line(server.name, 100)}</h1><${State}
    word=${server.state.word} /><${Chip}>${server.transport}<//>${server.version && html`<${Chip} title=${server.era}>${server.version}
    <//>`}
      <span class="grow"></span><${Verbs} server=${server} act=${act} detail=${detail} />
      <p class="sub mono small target" title=${line(server.target, 2000)}>${line(server.target, 600)}</p></div>
    ${
      opened &&
      html`<${Dialog} title="Sign in" onClose=${() => setOpened(null)} foot=${html`<${Button} onClick=${() => setOpened(null)}>Done<//>`}>
        <p>Sign in at this page; this view follows by itself. <a href=${href(['servers', name, 'sign-in'])}
          onClick=${() => setOpened(null)}>Each step of it</a></p><p><${Link} to=${opened}>Open the page<//></p><pre
        class="command">${visible(opened)}</pre>
      <${Pasted} act=${act} /><//>`
    }
    <${Tabs} tabs=${tabs} at=${tab} to=${(key) => href(key === 'overview' ? ['servers', name] : ['servers', name, key])} />
    <${Fault} of=${read.fault} again=${read.again} />
    ${
      tab === 'overview'
        ? html`<${Overview} server=${server} detail=${detail} act=${act} />`
        : tab === 'pins'
          ? html`<${Pins} server=${server} />`
          : tab === 'tasks'
            ? html`<${Tasks} name=${name} />`
            : tab === 'sign-in'
              ? html`<${SignSteps} name=${name} server=${server}
                act=${may('operator') && html`<${Button} kind="primary" onClick=${() => act('sign-in')}>Sign in<//>`} />`
              : tab === 'stderr'
            ? html`<${Stderr} name=${name} capabilities=${detail?.capabilities} />`
            : tab === 'handshake'
              ? detail
                ? html`<${Handshake} detail=${detail} />`
                : html`<${Skeleton} />`
              : tab === 'explain'
                ? detail
                  ? html`<pre class="block aligned" tabindex="0" data-testid="explained">${visible(detail.explained.join('\n'))}</pre>`
                  : html`<${Skeleton} />`
                : html`<${Lists} name=${name} server=${server} list=${tab} item=${item} />`
    }
  </div>`;
}

const Crumbs = () => html`<p class="crumbs"><a href=${href('servers')}>Servers</a></p>`;

function Pasted({ act }) {
  const [text, setText] = useState('');
  return html`<label class="field"><span class="about">Where the browser is on another machine: paste the address that it ended at.</span>
    <input value=${text} onInput=${(event) => setText(event.target.value)} /></label>
    <div><${Button} small disabled=${!text} onClick=${() => act('sign-in', { pasted: text })}>That is it<//></div>`;
}

function Verbs({ server, act, detail }) {
  const { word } = server.state;
  const verb = (key, label, kind, body) =>
    html`<${Button} small kind=${kind} onClick=${() => act(key, body)} data-testid=${`verb-${key}`}>${label}<//>`;
  if (!may('operator')) return null;
  return html`<div class="row">
    ${word === 'pending' && may('admin') && html`${verb('approve', 'Approve', 'primary', { digest: detail?.approvalDigest })}${verb('reject', 'Reject', 'danger')}`}
    ${['needs-auth', 'connected', 'failed', 'asleep'].includes(word) && ['wanted', 'expired', 'refused'].includes(server.signIn.word) && verb('sign-in', 'Sign in', 'primary')}
    ${server.signIn.word === 'signed-in' && verb('sign-out', 'Sign out')}
    ${['connected', 'failed', 'connecting', 'asleep', 'needs-auth'].includes(word) && verb('reconnect', 'Reconnect')}
    ${word === 'disabled' ? verb('enable', 'Enable', 'primary') : ['connected', 'failed', 'asleep', 'needs-auth', 'connecting'].includes(word) && verb('disable', 'Disable')}
      </div>`;
}

const Seen = ({
  title,
  seen,
}) => html`<div class="card"><h2 class="quiet small">${title}</h2><${State} word=${seen.word} />
  ${seen.reason && html`<p>${visible(seen.reason)}</p>`}${seen.hint && html`<p class="quiet small"><${Hint} of=${seen.hint} /></p>`}
  ${seen.at && html`<p class="quiet small">seen <${When} at=${seen.at} />${seen.by ? html` by <code>${visible(seen.by)}</code>` : null}
    </p>`}</div>`;

function Overview({ server, detail }) {
  return html`<div class="stack">
    <div class="three"><${Seen} title="Connection" seen=${server.state} /><${Seen} title="Sign-in" seen=${server.signIn} /><${Seen}
      title="Usable" seen=${server.usable} /></div>
    ${detail?.approval.length > 0 && html`<section class="card"><h2>What would be approved</h2><pre
      class="block">${visible(detail.approval.join('\n'))}</pre></section>`}
    <div class="halves"><section class="card"><h2>Facts</h2><dl class="facts">
        <dt>Configured in</dt><dd>${server.file ? html`<code>${visible(server.file)}${server.line ? `:${server.line}` : ''}
          </code> (${server.scope})` : server.scope}</dd>
        <dt>Path for clients</dt><dd>${server.segment ? html`<code>/mcp/${visible(server.segment)}</code>` : 'none yet'}</dd>
        <dt>Era</dt><dd>${server.era ?? 'not known yet'}${server.version ? `, ${server.version}` : ''}</dd>
        <dt>Shared</dt><dd>${detail?.isolation ?? '–'}, ${plural(server.copies, 'copy', 'copies')}, ${plural(server.clients, 'client')}</dd>
        <dt>Restarts</dt><dd>${server.restarts}</dd>
        <${Roots} entry=${detail?.entry} />
        ${detail?.instructions && html`<dt>Instructions</dt><dd class="small">${visible(detail.instructions).slice(0, 4000)}</dd>`}</dl>
          </section>
      <section class="card"><h2>Processes</h2>${detail?.processes.length ? html`<table><thead><tr><th>Process</th><th
        class="right">Memory</th><th class="right">CPU</th><th>Since</th></tr></thead><tbody>${detail.processes.map((process) => html`<tr
        key=${process.pid}><td>${process.pid}</td><td class="right">${bytes(process.memory)}</td><td
        class="right">${process.cpu === null ? '–' : `${process.cpu.toFixed(1)} %`}</td><td>${process.since ? html`<${When} at=${process.since} />` : '–'}</td></tr>`)}
        </tbody></table>` : html`<p
        class="quiet">${none(server)}
        </p>`}
        ${detail?.clients.length > 0 && html`<h2>Who uses it</h2><div class="row">${detail.clients.map((client, at) => html`<${Chip}
          key=${at}>${line(client.name ?? client.principal, 40)}<//>`)}</div>`}</section></div>
    ${detail?.entry && html`<section class="card"><h2>Entry</h2><${Tree} value=${detail.entry} /></section>`}
  </div>`;
}

/** Why no process of it runs. */
function none({ transport, state }) {
  if (transport === 'builtin') return 'None of its own: it is inside the program.';
  if (transport !== 'stdio') return 'None of ours: it is reached over a network.';
  if (stale.value) return 'Not known any more.';
  if (state.word === 'pending') return 'None runs before somebody has approved it.';
  if (state.word === 'failed') return 'None runs any more. The tab Log has what it wrote.';
  return 'None runs: it starts when somebody needs it.';
}

const Handshake = ({ detail }) => html`<div class="halves">
  <section class="card"><h2>What it said</h2>${detail.hello ? html`<${Tree} value=${detail.hello} />` : html`<p
    class="quiet">Nothing yet.</p>`}</section>
  <section class="card"><h2>Capabilities</h2>${detail.capabilities ? html`<${Tree} value=${detail.capabilities} />` : html`<p
    class="quiet">Not known.</p>`}</section></div>`;

function Stderr({ name, capabilities }) {
  const read = useRead((signal) => get(`servers/${part(name)}/stderr`, null, signal), [name]);
  useEffect(() => {
    const timer = setInterval(read.again, 3000);
    return () => clearInterval(timer);
  }, [name]);
  if (read.fault) return html`<${Fault} of=${read.fault} again=${read.again} />`;
  if (!read.value) return html`<${Skeleton} />`;
  const level = html`<${LogLevel} name=${name} capabilities=${capabilities} />`;
  if (read.value.lines.length === 0) return html`${level}<p class="note">It wrote nothing to its stderr.</p>`;
  return html`${level}${read.value.cut && html`<p class="quiet small">Older lines are not kept.</p>`}<pre class="stderr" tabindex="0"
    data-testid="stderr">${visible(read.value.lines.join('\n'))}</pre>`;
}
