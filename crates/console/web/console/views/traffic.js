// All calls of all clients, as they happen.
import { html, useCallback, useEffect, useRef, useState } from '../html.js';
import { address } from '../api.js';
import { busy, fresh, more, page, paused, pings, refused, release, setPaused, show, shown, stop } from '../calls.js';
import { useKeys } from '../keys.js';
import { go, href, replace } from '../router.js';
import { may, token } from '../session.js';
import { tap } from '../store.js';
import { bytes, clockTime, count, line, plural, time } from '../parts/format.js';
import { SetBreakpoint } from '../parts/breaks.js';
import { Icon } from '../parts/icons.js';
import { Rows } from '../parts/rows.js';
import { attempt, Button, Dialog, Empty, Fault, Skeleton, Word } from '../parts/ui.js';

const HEIGHT = 34;
const EXAMPLES = [
  ['error', 'failed'],
  ['server:git', 'of a server'],
  ['tool:*delete*', 'of tools by name'],
  ['client:cursor', 'of a client'],
  ['>200ms', 'slow'],
  ['era:bridged', 'between eras'],
  ['"some text"', 'with a text in their messages'],
];
/** Which call was looked at last, so that the list comes back where it was. */
let last = { id: null, top: 0 };

const era = (word) => (word === 'modern' ? 'M' : word === 'legacy' ? 'L' : '?');

function Row({ call, top, chosen }) {
  const ours = call.took === null ? null : call.took - (call.atServer ?? 0) - (call.waited ?? 0);
  const what = call.name ?? call.method;
  return html`<a class="call" role="option" id=${`call-${call.id}`} data-testid="call" aria-selected=${chosen} tabindex="-1"
    style=${{ transform: `translateY(${top}px)` }} href=${href(['traffic', String(call.id)])}>
    <span class="c-at mono">${clockTime(call.at)}</span>
    <span class="c-client" title=${call.principal}>${call.principal === 'console' ? 'console' : line(call.client ?? call.principal, 60)}</span>
    <span class="c-server">${line(call.server ?? '–', 60)}</span>
    <span class="c-what" title=${`${call.method} ${line(call.name ?? '', 200)}`}><span class="c-of quiet">${call.server ? `${line(call.server, 30)} ` : ''}</span><strong>${line(what, 120)}
      </strong> ${call.name && call.method !== 'tools/call' ? html`<span class="quiet">${call.method}
      </span>` : null}${call.error ? html` <span class="quiet">${line(call.error, 120)}</span>` : null}</span>
    <span><${Word} word=${call.outcome} /></span>
    <span class="right c-ours" title="in us">${time(ours)}</span>
    <span class="right c-theirs" title="at the server">${call.server ? time(call.atServer) : '–'}</span>
    <span class="right c-bytes"
      title=${`${bytes(call.bytesIn)} in, ${bytes(call.bytesOut)} out, about ${count(call.tokens)} tokens`}>${bytes(call.bytesOut)}</span>
    <span class="right c-era quiet"
      title=${`${call.clientEra} client, ${call.serverEra ?? 'unknown'} server`}>${era(call.clientEra)}→${era(call.serverEra)}</span>
  </a>`;
}

export function Traffic({ query }) {
  const filter = query.filter ?? '';
  const [typed, setTyped] = useState(filter);
  const [chosen, setChosen] = useState(last.id);
  const [help, setHelp] = useState(false);
  const [breaking, setBreaking] = useState(false);
  const box = useRef(null);
  const scroller = useRef(null);
  const held = useRef(false);
  useEffect(() => {
    setTyped(filter);
    show(filter);
  }, [filter]);
  useEffect(() => {
    if (scroller.current && last.top) scroller.current.scrollTop = last.top;
    return () => {
      last = { ...last, top: scroller.current?.scrollTop ?? 0 };
      stop();
    };
  }, []);
  useEffect(() => {
    const timer = setTimeout(() => {
      if (typed !== filter) replace('traffic', { filter: typed });
    }, 250);
    return () => clearTimeout(timer);
  }, [typed]);
  const onTop = useCallback((top) => setPaused(held.current || !top), []);
  const list = shown.value;
  const move = (by) => {
    const at = list.findIndex((call) => call.id === chosen);
    const next = Math.min(Math.max(at < 0 ? 0 : at + by, 0), list.length - 1);
    if (!list[next]) return;
    last.id = list[next].id;
    setChosen(list[next].id);
    const [element, top] = [scroller.current, next * HEIGHT];
    if (top < element.scrollTop) element.scrollTop = top;
    else if (top + HEIGHT > element.scrollTop + element.clientHeight)
      element.scrollTop = top + HEIGHT - element.clientHeight;
  };
  const hold = () => {
    held.current = !held.current;
    setPaused(held.current || scroller.current.scrollTop > HEIGHT / 2);
  };
  const toTop = () => {
    held.current = false;
    release();
    scroller.current.scrollTop = 0;
    setPaused(false);
  };
  useKeys([
    ['/', 'filter', () => box.current.focus()],
    ['j', 'next call', () => move(1)],
    ['k', 'call before', () => move(-1)],
    ['ArrowDown', 'next call', () => move(1)],
    ['ArrowUp', 'call before', () => move(-1)],
    ['Enter', 'open the call', () => chosen && go(['traffic', String(chosen)])],
    ['p', 'pause', hold],
    ['Home', 'newest', toTop],
  ]);
  const drawn = useRef([]);
  // What is as it was is not looked at again.
  const row = (at, top, place) => {
    const [call, before] = [list[at], drawn.current[place]];
    const isChosen = call.id === chosen;
    if (before?.call === call && before.top === top && before.isChosen === isChosen) return before.node;
    const node = html`<${Row} key=${place} call=${call} top=${top} chosen=${isChosen} />`;
    drawn.current[place] = { call, top, isChosen, node };
    return node;
  };
  return html`
    <div class="bar">
      <h1 class="hidden-label">Traffic</h1>
      <label class="filter"><span class="hidden-label">Filter</span><${Icon} name="search" size=${16} />
        <input ref=${box} value=${typed} data-testid="filter" placeholder=${'server:git tool:*delete* client:cursor >200ms error "text"'}
          spellcheck="false" autocomplete="off"
          aria-invalid=${refused.value?.code === 'invalid'} onInput=${(event) => setTyped(event.target.value)} onKeyDown=${(
            event,
          ) => {
            if (event.key === 'Escape') {
              setTyped('');
              box.current.blur();
            }
            if (event.key === 'Enter') box.current.blur();
          }} /></label>
      <${Button} small onClick=${() => setHelp(true)}>How to filter<//>
      <${Button} small icon=${paused.value ? 'play' : 'pause'} onClick=${paused.value ? toTop : hold}
        data-testid="pause">${paused.value ? 'Go on' : 'Pause'}<//>
      <${Button} small aria-pressed=${pings.value} title="Clients that are connected send one every few seconds" data-testid="pings"
        onClick=${() => {
          pings.value = !pings.value;
          show(filter);
        }}>${pings.value ? 'Without pings' : 'With pings'}<//>
      <${Button} small onClick=${() => setBreaking(true)} disabled=${!may('operator')} data-testid="break">Hold…<//>
      <${Button} small onClick=${() => attempt(() => download(filter))} disabled=${page.value.matching === 0}>Export<//>
      <span class="quiet small"
        data-testid="matching">${filter ? `${count(page.value.matching)}${page.value.partial ? ' or more' : ''} of ${plural(page.value.total, 'call')}` : plural(page.value.matching, 'call')}${page.value.dropped ? `, ${count(page.value.dropped)} older ones dropped` : ''}
        </span>
    </div>
    <${Fault} of=${refused.value} again=${() => show(filter)} />
    <div class="calls">
      <div class="call head-row" aria-hidden="true"><span class="c-at">Time</span><span class="c-client">Client</span><span
        class="c-server">Server</span><span>What</span><span>Outcome</span><span class="right">In us</span><span
        class="right c-theirs">At server</span><span class="right c-bytes">Answer</span><span class="right c-era">Eras</span></div>
      ${fresh.value.length > 0 && html`<${Button} kind="primary fresh" small icon="up" onClick=${toTop}
        data-testid="fresh">${plural(fresh.value.length, 'new call')}<//>`}
      ${list.length === 0 && !busy.value ? html`<${None} filter=${filter} />` : null}
      ${list.length === 0 && busy.value ? html`<${Skeleton} rows=${12} />` : html`<${Rows} count=${list.length} height=${HEIGHT} keyOf=${(at) => list[at].id} row=${row}
        scroller=${scroller} onTop=${onTop} onEnd=${more} label="Calls, newest first" />`}
    </div>
    ${breaking && html`<${SetBreakpoint} filter=${filter} onClose=${() => setBreaking(false)} />`}
    ${
      help &&
      html`<${Dialog} title="How to filter" onClose=${() => setHelp(false)}>
      <p>Words are joined by “and”; a dash before one takes it away. The same words work in <code>switchboard traffic --filter</code>.</p>
      <table class="keys"><tbody>${EXAMPLES.map(([text, what]) => html`<tr key=${text}><td><a href=${href('traffic', { filter: text })}
        onClick=${() => setHelp(false)}><code>${text}</code></a></td><td>calls ${what}</td></tr>`)}</tbody></table><//>`
    }`;
}

const None = ({ filter }) =>
  filter
    ? html`<${Empty} title="No call matches" action=${html`<a class="button"
      href=${href('traffic')}>Show all calls</a>`}>Nothing that is kept matches <code>${filter}
      </code>. New calls that do are shown as they come.<//>`
    : html`<${Empty} title="No calls yet" action=${html`<div class="row"><a class="button primary"
      href=${href(['setup', 'clients'])}>Connect a client</a><a class="button" href=${href('tools')}>Call a tool here</a>
      </div>`}>As soon as a client calls something, both sides of it are here.${tap.value?.armed ? '' : ' Messages are not kept just now: “Keep messages” above changes that.'}
      <//>`;

async function download(filter) {
  const answer = await fetch(address('export', { filter }), {
    headers: { authorization: `Bearer ${token.value}` },
    credentials: 'omit',
  });
  if (!answer.ok) throw new Error(`the gateway answered ${answer.status}`);
  const link = document.createElement('a');
  link.href = URL.createObjectURL(await answer.blob());
  link.download = 'calls.mcp.jsonl';
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
}
