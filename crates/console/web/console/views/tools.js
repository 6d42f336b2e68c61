// All tools of all servers in one table, and rules for many at once.
import { html, useEffect, useMemo, useRef, useState } from '../html.js';
import { get, part, post } from '../api.js';
import { href, replace } from '../router.js';
import { may } from '../session.js';
import { listed, now, servers, settingsRead } from '../store.js';
import { count, line, plural, time, visible } from '../parts/format.js';
import { Patch } from '../parts/diff.js';
import { score } from '../parts/palette.js';
import { attempt, Button, Chip, Dialog, Empty, Fault, Skeleton, toast, useRead, Word } from '../parts/ui.js';

/** @type {[string, string, (tool: import('api').Tool) => any][]} */
const COLUMNS = [
  ['name', 'Tool', (tool) => tool.name.toLowerCase()],
  ['server', 'Server', (tool) => tool.server],
  ['decision', 'Rule', (tool) => ['deny', 'ask', 'allow'].indexOf(tool.decision)],
  ['tokens', 'Tokens', (tool) => -tool.tokens],
  ['calls', 'Calls', (tool) => -tool.calls],
  ['last', 'Last used', (tool) => -(tool.last ?? 0)],
  ['p50', 'p50', (tool) => -(tool.p50 ?? 0)],
  ['p99', 'p99', (tool) => -(tool.p99 ?? 0)],
  ['errors', 'Failed', (tool) => -(tool.calls ? tool.errors / tool.calls : 0)],
];
const RULES = [
  ['allow', 'Allow'],
  ['ask', 'Ask first'],
  ['deny', 'Deny'],
  ['hide', 'Hide'],
  ['none', 'Take rules away'],
];
const MOST = 400;
/** How many servers are asked at the same time. */
const AT_ONCE = 4;
const DAY = 86_400_000;

/** Uses are counted by the day. */
function lastUsed({ last }) {
  if (!last) return html`<span class="quiet">never</span>`;
  const days = Math.floor(now.value / DAY) - Math.floor(last / DAY);
  return days <= 0 ? 'today' : days === 1 ? 'yesterday' : `${days} days ago`;
}

export function Tools({ query }) {
  const read = useRead((signal) => get('tools', null, signal), [settingsRead.value, JSON.stringify(listed.value)]);
  const [picked, setPicked] = useState(new Set());
  const [most, setMost] = useState(MOST);
  const [rule, setRule] = useState(null);
  const [find, sort] = [query.find ?? '', query.sort ?? 'server'];
  const tools = useMemo(() => {
    const all = read.value?.tools ?? [];
    const found = find
      ? all.filter(
          (tool) =>
            score(`${tool.server} ${tool.name} ${tool.title ?? ''}`, find) > 0 ||
            (tool.description ?? '').toLowerCase().includes(find.toLowerCase()),
        )
      : all;
    const by = COLUMNS.find(([key]) => key === sort)?.[2] ?? COLUMNS[1][2];
    return [...found].sort((one, other) => {
      const [a, b] = [by(one), by(other)];
      return a < b ? -1 : a > b ? 1 : one.canonical < other.canonical ? -1 : 1;
    });
  }, [read.value, find, sort]);
  const seen = tools.slice(0, most);
  const all = seen.length > 0 && seen.every((tool) => picked.has(tool.canonical));
  const toggle = (name) =>
    setPicked((before) => {
      const made = new Set(before);
      if (!made.delete(name)) made.add(name);
      return made;
    });
  const bar = useRef(null);
  const ticked = useRef(null);
  // The bar comes up over the list: not over the row that brought it.
  useEffect(() => {
    const over = ticked.current && bar.current && ticked.current.getBoundingClientRect().bottom - bar.current.getBoundingClientRect().top;
    if (over > -4) document.getElementById('main').scrollBy(0, over + 8);
  }, [picked]);
  const propose = (decision) =>
    attempt(async () => setRule({ decision, written: await post('tools/rules', { tools: [...picked], decision }) }));
  const write = () =>
    attempt(async () => {
      const written = await post('tools/rules', {
        tools: [...picked],
        decision: rule.decision,
        confirm: rule.written.digest,
      });
      toast(written.written ? `Written to ${written.file}` : 'Nothing was written');
      setRule(null);
      setPicked(new Set());
      read.again();
    });
  const unasked = servers.value.filter(
    (server) => server.tools === null && (server.state.word === 'asleep' || server.state.word === 'connected'),
  );
  const [asking, setAsking] = useState(0);
  const [silent, setSilent] = useState([]);
  const tried = useRef(new Set());
  const askThem = async (which) => {
    const left = [...which];
    for (const server of left) tried.current.add(server.name);
    setAsking((before) => before + left.length);
    const next = async () => {
      for (let server = left.shift(); server; server = left.shift()) {
        const { name } = server;
        // Why one cannot be had is said on its own page.
        const silent = await get(`servers/${part(server.segment)}/tools`).then(
          () => false,
          () => true,
        );
        setAsking((before) => before - 1);
        setSilent((before) => [...before.filter((one) => one !== name), ...(silent ? [name] : [])]);
      }
    };
    await Promise.all(Array.from({ length: AT_ONCE }, next));
    read.again();
  };
  const mute = unasked.filter((server) => silent.includes(server.name));
  // Whoever looks for tools wants those too of servers that nobody has asked yet.
  const untried = unasked.filter((server) => !tried.current.has(server.name));
  useEffect(() => {
    if (untried.length) askThem(untried);
  }, [untried.map((server) => server.name).join(' ')]);
  const total = (read.value?.tools ?? []).reduce((sum, tool) => sum + (tool.hidden ? 0 : tool.tokens), 0);
  return html`<div class="page"><div class="head"><h1>Tools</h1><span class="grow"></span>
      <input type="search" aria-label="find tools" placeholder="find by name, server or description" value=${find}
        onInput=${(event) => replace('tools', { find: event.target.value, sort: query.sort })} data-testid="find-tools" class="searchbox" />
      <p class="sub">${plural(read.value?.tools.length ?? 0, 'tool')}, ≈ ${count(total)} tokens in every session of a client that lists them all. <a
        href=${href(['insight', 'bill'])}>What that costs</a></p></div>
    <${Fault} of=${read.fault} again=${read.again} />
    ${asking > 0 && html`<p class="note" role="status">Asking ${plural(asking, 'server')} for ${asking === 1 ? 'its' : 'their'} tools…</p>`}
    ${asking === 0 && mute.length > 0 && html`<div class="note warn row">
      <span>${plural(mute.length, 'server')} did not say which tools ${mute.length === 1 ? 'it has' : 'they have'}: ${line(mute.map((server) => server.name).join(', '), 200)}
      </span><span class="grow"></span><${Button} small onClick=${() => askThem(mute)} data-testid="ask-servers">Ask again<//></div>`}
    ${
      !read.value && read.busy
        ? html`<${Skeleton} rows=${8} />`
        : tools.length === 0
          ? html`<${Empty} title=${find ? 'No tool matches' : 'No tools yet'} action=${html`<a class="button primary"
            href=${href(find ? 'tools' : ['setup', 'add'])}>${find ? 'Show all tools' : 'Add a server'}
            </a>`}>${find ? 'Nothing has these letters in this order.' : 'Tools are what servers bring.'}<//>`
          : html`<div class="table tools"><table><thead><tr>
        <th><input type="checkbox" aria-label="pick all that are shown" checked=${all}
          onChange=${() => setPicked(all ? new Set() : new Set(seen.map((tool) => tool.canonical)))} /></th>
        ${COLUMNS.map(([key, label]) => html`<th key=${key} aria-sort=${sort === key ? 'ascending' : undefined}
          class=${['tokens', 'calls', 'p50', 'p99', 'errors'].includes(key) ? 'right' : ''}><button type="button"
          onClick=${() => replace('tools', { find, sort: key })}>${label}${sort === key ? ' ▾' : ''}</button></th>`)}
      </tr></thead><tbody>${seen.map(
        (tool) => html`<tr key=${tool.canonical} data-testid="tool" data-tool=${tool.shown}>
        <td><input type="checkbox" aria-label=${`pick ${line(tool.name, 80)}`} checked=${picked.has(tool.canonical)}
          onChange=${(event) => {
            ticked.current = event.target.closest('tr');
            toggle(tool.canonical);
          }} /></td>
        <td class="name"><a href=${href(['servers', tool.server, 'tools', tool.name])}>${line(tool.name, 100)}
          </a> ${tool.hidden && html`<${Chip}>hidden<//>`} ${tool.pin === 'changed' && html`<${Chip} kind="warn">changed<//>`}
          <small>${line(tool.description ?? '', 600)}</small></td>
        <td class="tight"><a href=${href(['servers', tool.server])}>${line(tool.server, 40)}</a></td>
        <td class="tight"><${Word} word=${tool.decision} title=${visible(tool.rule ?? 'no rule')} /></td>
        <td class="right tight">${count(tool.tokens)}</td><td class="right tight">${count(tool.calls)}</td><td class="tight">${lastUsed(tool)}</td>
        <td class="right tight">${time(tool.p50)}</td><td class="right tight">${time(tool.p99)}</td><td
          class="right tight">${tool.calls ? `${Math.round((tool.errors / tool.calls) * 100)} %` : '–'}</td></tr>`,
      )}</tbody></table></div>`
    }
    ${tools.length > most && html`<div><${Button} onClick=${() => setMost(most + MOST)}>${tools.length - most} more<//></div>`}
    ${
      picked.size > 0 &&
      html`<div class="picked" ref=${bar} role="region" aria-label="Rules for what is picked"><strong>${plural(picked.size, 'tool')} picked</strong>
      ${RULES.map(([key, label]) => html`<${Button} small key=${key} disabled=${!may('admin')} onClick=${() => propose(key)}
        data-testid=${`rule-${key}`}>${label}<//>`)}
      <span class="grow"></span><${Button} small onClick=${() => setPicked(new Set())}>Pick none<//></div>`
    }
    ${
      rule &&
      html`<${Dialog} wide title="What would be written" onClose=${() => setRule(null)} foot=${html`<${Button}
        onClick=${() => setRule(null)}>Do not<//><${Button} kind="primary" onClick=${write} disabled=${rule.written.difference.length === 0}
        data-testid="write">Write it<//>`}>
      <p><code>${visible(rule.written.file)}</code></p>${rule.written.difference.length ? html`<${Patch}
        lines=${rule.written.difference} />` : html`<p class="note">Nothing would change.</p>`}<//>`
    }
  </div>`;
}
