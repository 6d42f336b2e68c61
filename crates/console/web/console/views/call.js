// One call: its time line, and its messages at four edges.
import { html, useEffect, useState } from '../html.js';
import { get, post, remove } from '../api.js';
import { lastFilter } from '../calls.js';
import { useKeys } from '../keys.js';
import { go, href } from '../router.js';
import { may } from '../session.js';
import { bytes, count, dateTime, line, time, visible } from '../parts/format.js';
import { Messages } from '../parts/messages.js';
import { Replay } from '../parts/replay.js';
import { attempt, Button, Chip, Copy, Fault, Skeleton, useRead, Word } from '../parts/ui.js';

export function CallPage({ id, query }) {
  const read = useRead((signal) => get(`calls/${encodeURIComponent(id)}`, null, signal), [id]);
  const [secrets, setSecrets] = useState(null);
  const outcome = read.value?.call.outcome;
  useEffect(() => {
    if (outcome !== 'running' && outcome !== 'waiting') return undefined;
    const timer = setInterval(read.again, 1000);
    return () => clearInterval(timer);
  }, [id, outcome]);
  useKeys([
    ['Escape', 'back to the list', () => go('traffic', { filter: lastFilter.value })],
    ['r', 'replay', () => go(['traffic', id], { replay: '1' })],
  ]);
  if (!read.value)
    return html`<div class="page"><${Crumbs} id=${id} />${read.fault ? html`<${Fault} of=${read.fault}
      again=${read.again} />` : html`<${Skeleton} rows=${7} />`}</div>`;
  const detail = secrets ?? read.value;
  const { call, messages, copies } = detail;
  const cut = messages.reduce((sum, one) => sum + one.secrets, 0);
  const running = call.outcome === 'running' || call.outcome === 'waiting';
  const reveal = () => attempt(async () => setSecrets(await post(`calls/${id}/reveal`)));
  return html`<div class="page" data-testid="call-page">
    <div class="head"><${Crumbs} id=${id} />
      <h1>${line(call.name ?? call.method, 160)}</h1><${Word} word=${call.outcome} />
      ${call.replayOf && html`<a href=${href(['traffic', String(call.replayOf)])}>replay of ${call.replayOf}</a>`}
      <span class="grow"></span>
      ${running && call.origin === 'own' && may('operator') && html`<${Button} small kind="danger"
        onClick=${() => attempt(() => remove(`calls/${id}`))}>Cancel<//>`}
      ${may('operator') && html`<a class="button small" href=${href(['traffic', id], query.replay ? {} : { replay: '1' })}
        data-testid="replay">${query.replay ? 'Close replay' : 'Replay…'}</a>`}
      <p class="sub">${visible(call.client ?? call.principal)} <span
        class="quiet">(${visible(call.principal)}, ${call.clientEra})</span> → ${call.server ? html`<a
        href=${href(['servers', call.server])}>${visible(call.server)}</a>` : 'no server'} <span
        class="quiet">${call.serverEra ? `(${call.serverEra})` : ''}</span> · <code>${visible(call.method)}</code> · ${dateTime(call.at)}
        </p>
    </div>
    ${call.error && html`<div class="fault"><div><strong>${line(call.error, 800)}</strong>
      <p>${call.fault ? `whose fault: ${call.fault === 'ours' ? 'ours' : `the ${call.fault}`}` : ''}${call.code ? ` · code ${call.code}` : ''}
      </p></div></div>`}
    ${detail.decision && html`<p class="note">Decided: <strong>${detail.decision}
      </strong>${detail.rule ? html` by <code>${visible(detail.rule)}</code>` : null}</p>`}
    ${(detail.waited ?? []).map((one) => html`<p class="note">${waitedWords(one)}</p>`)}
    <${TimeLine} call=${call} messages=${messages} />
    <div class="row copies">
      ${copies.command && html`<${Copy} label="Copy as command" text=${copies.command} />`}
      ${copies.curl && html`<${Copy} label="Copy as curl" text=${copies.curl} />`}
      ${copies.line && html`<${Copy} label="Copy as JSON-RPC" text=${copies.line} />`}
      <${Chip} title="bytes / 4: an estimate">${bytes(call.bytesIn)} in, ${bytes(call.bytesOut)} out, ≈ ${count(call.tokens)} tokens<//>
      ${call.sent > 1 && html`<${Chip} kind="warn">sent ${call.sent} times<//>`}
      ${call.asked > 0 && html`<${Chip}>asked ${call.asked} ${call.asked === 1 ? 'question' : 'questions'}<//>`}
      ${cut > 0 && !secrets && html`<${Chip} kind="warn">${cut} secrets cut<//> ${may('admin') && html`<${Button} small onClick=${reveal}
        title="This is put on record">Show them<//>`}`}
    </div>
    ${query.replay && html`<${Replay} detail=${detail} />`}
    ${detail.missing > 0 && html`<p class="note">${detail.missing} messages of this call are not kept any more.</p>`}
    ${
      messages.length > 0
        ? html`<${Messages} messages=${messages} />`
        : html`<p class="note">Its messages were not kept: “Keep messages” above has those of the next calls kept.</p>`
    }
  </div>`;
}

/** What a person was asked about the call, and what became of it: as `traffic show` says it. */
function waitedWords(one) {
  const asked = {
    held: one.point === 'call' ? 'Held before it was called' : 'Its answer was held',
    form: 'Asked to fill in a form',
    page: 'Asked to visit a page',
    sampling: 'Asked for a model’s answer',
  };
  const what = asked[one.kind] ?? 'Asked whether it may be made';
  if (one.answered) {
    return html`${what}: <strong>${visible(one.answered.action)}</strong> by ${visible(one.answered.by)}`;
  }
  const open = { open: 'waits', 'timed-out': 'nobody answered in time' };
  return `${what}: ${open[one.status] ?? 'nobody waits for the answer any more'}`;
}

const Crumbs = ({ id }) =>
  html`<p class="crumbs"><a href=${href('traffic', { filter: lastFilter.value })}>Traffic</a> / call ${id}</p>`;

/** What took how long: us before, the server, a person, us after. */
function TimeLine({ call, messages }) {
  const took = call.took ?? Math.max(1, ...messages.map((one) => one.at));
  const first = messages.find((one) => one.edge === 'to-server');
  const last = messages.findLast((one) => one.edge === 'from-server');
  /** @type {[string, string, number[][]][]} */
  const lanes = [];
  if (first && last) {
    lanes.push(
      [
        'in us',
        'ours',
        [
          [0, first.at],
          [last.at, took],
        ],
      ],
      ['at the server', 'theirs', [[first.at, last.at]]],
    );
  } else if (call.atServer !== null && call.took !== null) {
    const ours = call.took - call.atServer - (call.waited ?? 0);
    lanes.push(
      ['in us', 'ours', [[0, ours]]],
      ['at the server', 'theirs', [[ours, ours + call.atServer]]],
    );
    if (call.waited) lanes.push(['a person', 'person', [[call.took - call.waited, call.took]]]);
  } else {
    lanes.push(['in us', 'ours', [[0, took]]]);
  }
  const waits = [];
  for (const [at, one] of messages.entries()) {
    if (one.kind !== 'question' || one.edge !== 'to-client') continue;
    const answer = messages.slice(at).find((other) => other.kind === 'answer');
    waits.push([one.at, answer?.at ?? took]);
  }
  if (waits.length && !lanes.some(([, kind]) => kind === 'person')) lanes.push(['a person', 'person', waits]);
  return html`<div class="timeline card" data-testid="timeline">${lanes.map(
    ([name, kind, spans]) => html`<div class="lane" key=${name}>
    <span>${name}</span>
    <svg viewBox="0 0 1000 16" preserveAspectRatio="none" role="img"
      aria-label=${`${name}: ${time(spans.reduce((sum, [from, to]) => sum + to - from, 0))}`}>
      ${spans.map(([from, to], at) => html`<rect key=${at} class=${kind} x=${(from / took) * 1000}
        width=${Math.max(3, ((to - from) / took) * 1000)} y="3" height="10" rx="2" />`)}</svg>
    <span class="right">${time(spans.reduce((sum, [from, to]) => sum + to - from, 0))}</span></div>`,
  )}</div>`;
}
