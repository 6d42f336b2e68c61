// All servers, those first that need somebody.
import { html, useEffect } from '../html.js';
import { get } from '../api.js';
import { href } from '../router.js';
import { clients, gateway, hear, heard, servers, stale, waiting } from '../store.js';
import { bytes, clockTime, count, line, plural, span, visible } from '../parts/format.js';
import { Chip, Empty, State, useRead, Word } from '../parts/ui.js';
import { now } from '../store.js';

const RANK = {
  failed: 0,
  'needs-auth': 1,
  pending: 2,
  connecting: 3,
  connected: 4,
  asleep: 5,
  disabled: 6,
  denied: 7,
  rejected: 8,
  shadowed: 9,
  unused: 9,
};
/** @type {[string, (rank: number) => boolean][]} */
const GROUPS = [
  ['Need you', (rank) => rank <= 2],
  ['In use', (rank) => rank > 2 && rank <= 5],
  ['Not in use', (rank) => rank > 5],
];

export function Servers() {
  const all = [...servers.value].sort((one, other) => (RANK[one.state.word] ?? 9) - (RANK[other.state.word] ?? 9));
  const { since, panics, open, address } = gateway.value;
  // What was proposed has no entry yet, and needs somebody all the same.
  const read = useRead(
    async (signal) => (waiting.value > 0 ? (await get('questions', null, signal)).questions : []),
    [waiting.value],
  );
  const proposed = (read.value ?? []).filter((question) => question.kind === 'proposal' && question.status === 'open');
  useEffect(() => hear((event) => event.kind === 'question' && event.question.kind === 'proposal' && read.again()), []);
  const sub = stale.value
    ? html`${plural(servers.value.length, 'server')}, ${plural(clients.value.length, 'client')} as it was at ${clockTime(heard.value)}, by then up for ${span((heard.value - since) / 1000)}`
    : html`${plural(servers.value.length, 'server')}, ${plural(clients.value.length, 'client')} connected, up for ${span((now.value - since) / 1000)}`;
  return html`<div class="page"><div class="head"><h1>Servers</h1><span class="grow"></span><a class="button primary"
    href=${href(['setup', 'add'])} data-testid="add-server">Add a server</a>
    <p class="sub">${sub} at <code>${address}</code></p></div>
    ${panics > 0 && html`<p
      class="note warn">${plural(panics, 'fault')} of our own ${panics === 1 ? 'was' : 'were'} survived: each is a bug. <code>switchboard logs</code> has the text.</p>`}
    ${open && html`<p class="note warn">Anybody on this machine may come in without a token.</p>`}
    ${
      all.length === 0 && proposed.length === 0
        ? html`<${Empty} title="No servers yet" action=${html`<a class="button primary"
          href=${href(['setup', 'add'])}>Add a server</a>`}>Paste what a server's page tells you to put into any client: it is explained before it is written.<//>`
        : GROUPS.map(([title, holds]) => {
            const group = all.filter((server) => holds(RANK[server.state.word] ?? 9));
            const extra = title === 'Need you' ? proposed : [];
            return (
              group.length + extra.length > 0 &&
              html`<section key=${title} class="stack" aria-label=${title}><h2>${title} <span
                class="badge">${group.length + extra.length}</span></h2><div
                class="cards">${extra.map((question) => html`<${Proposal} key=${question.id} question=${question} />`)}${group.map((server) => html`<${Card} key=${`${server.name} ${server.file}`} server=${server} />`)}</div>
                </section>`
            );
          })
    }
    ${
      clients.value.length > 0 &&
      html`<section class="stack" aria-label="Clients"><h2>Clients <span class="badge">${clients.value.length}</span></h2><div
        class="row">${clients.value.map(
        (client, at) => html`
      <a key=${at} class="chip"
        href=${href('traffic', { filter: client.name ? `client:${quoted(client.name)}` : '' })}>${line(client.name ?? 'a client', 40)} ${line(client.version ?? '', 20)} · ${line(client.principal, 30)} · ${client.era}
        </a>`,
      )}</div></section>`
    }
  </div>`;
}

const Proposal = ({ question }) => html`<a class="card server" href=${href(['inbox', question.id])} data-testid="proposal">
  <div class="title"><h2>${line(question.name ?? question.server ?? 'A new entry', 60)}</h2><${Word} word="waiting" text="proposed" /></div>
  <div class="why">${line(question.title, 200)}</div>
  <div class="facts-line">It is not written before somebody has approved it.</div></a>`;

const quoted = (text) => (/\s/.test(text) ? `"${text}"` : text);

function Card({ server }) {
  const { state, signIn, usable } = server;
  const reason =
    state.reason ??
    (usable.word === 'no' ? usable.reason : null) ??
    (signIn.word === 'wanted' || signIn.word === 'expired' ? signIn.reason : null) ??
    (state.word === 'needs-auth' ? 'Somebody has to sign in before it can be used.' : null);
  return html`<a class="card server" href=${href(['servers', server.segment])} data-testid="server" data-server=${server.name}>
    <div class="title"><h2>${line(server.name, 60)}</h2><${State} word=${state.word} /></div>
    <div class="target" title=${visible(server.target)}>${line(server.target, 160)}</div>
    ${reason && html`<div class="why">${line(reason, 200)}</div>`}
    <div class="facts-line"><${Chip}>${server.transport}<//>${server.scope !== server.transport && html`<${Chip}>${server.scope}<//>`}
      ${server.tools !== null && html`<span>${plural(server.tools, 'tool')}
        </span>`}${server.tokens !== null && html`<span>≈ ${count(server.tokens)} tokens</span>`}
      ${server.memory !== null && html`<span>${bytes(server.memory)}
        </span>`}${server.clients > 0 && html`<span>${plural(server.clients, 'client')}</span>`}
      ${server.held > 0 && html`<${Chip}
        kind="warn">${server.held} held<//>`}${server.restarts > 0 && html`<span>${plural(server.restarts, 'restart')}
        </span>`}${server.inFlight > 0 && html`<span>${server.inFlight} in flight</span>`}</div></a>`;
}
