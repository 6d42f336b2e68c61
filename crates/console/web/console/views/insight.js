// How long things take, what fails, and what lists cost a model.
import { html, useEffect, useState } from '../html.js';
import { get } from '../api.js';
import { href } from '../router.js';
import { bytes, count, line, plural, span, time, visible } from '../parts/format.js';
import { Histogram } from '../parts/histogram.js';
import { Chip, Copy, Empty, Fault, Skeleton, Tabs, useRead } from '../parts/ui.js';

export function Insight({ tab }) {
  return html`<div class="page"><div class="head"><h1>Insight</h1></div>
    <${Tabs} tabs=${[
      ['times', 'Times and errors'],
      ['bill', 'Context bill'],
    ]} at=${tab} to=${(key) => href(['insight', key])} />
    ${tab === 'bill' ? html`<${Bill} />` : html`<${Times} />`}</div>`;
}

const sum = (lists) => {
  const made = new Map();
  for (const [bound, many] of lists.flat()) made.set(bound, (made.get(bound) ?? 0) + many);
  return [...made].sort((one, other) => one[0] - other[0]);
};

function Times() {
  const read = useRead((signal) => get('metrics', null, signal), []);
  const [chosen, setChosen] = useState(null);
  useEffect(() => {
    const timer = setInterval(() => !document.hidden && read.again(), 5000);
    return () => clearInterval(timer);
  }, []);
  if (!read.value)
    return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} rows=${6} />`;
  const { lines, seconds, inFlight, parked, budget, memory } = read.value;
  if (lines.length === 0)
    return html`<${Empty} title="Nothing was counted yet">Times and errors of calls are here once there are some.<//>`;
  const id = (one) => `${one.server} ${one.method} ${one.tool ?? ''}`;
  const shown = chosen === null ? lines : lines.filter((one) => id(one) === chosen);
  const [calls, errors] = [
    lines.reduce((total, one) => total + one.calls, 0),
    lines.reduce((total, one) => total + one.errors, 0),
  ];
  const classes = new Map();
  for (const one of shown) for (const [name, many] of one.classes) classes.set(name, (classes.get(name) ?? 0) + many);
  return html`<div class="numbers">
      <div class="card"><b>${count(calls)}</b><span>calls in ${span(seconds)}</span></div><div class="card">
        <b>${calls ? `${((errors / calls) * 100).toFixed(1)} %` : '–'}</b><span>failed</span></div>
      <div class="card"><b>${inFlight}</b><span>in flight</span></div><div class="card"><b>${parked}</b><span>wait for their client</span>
        </div>
      <div class="card"><b>${bytes(budget[0])}</b><span>of ${bytes(budget[1])} in flight</span></div><div class="card"><b>${bytes(memory)}
        </b><span>our own memory</span></div></div>
    <section class="card stack"><div class="row"><h2>${chosen === null ? 'All calls' : visible(chosen)}</h2><span class="grow"></span><span
      class="legend"><span><i class="ours"></i>in us</span><span><i class="theirs"></i>at the server</span></span></div>
      <${Histogram} ours=${sum(shown.map((one) => one.ours.buckets))} theirs=${sum(shown.map((one) => one.theirs.buckets))}
        label="How long calls took, in us and at the server" />
      ${classes.size > 0 && html`<div class="row"><span
        class="quiet small">Errors</span>${[...classes].sort((one, other) => other[1] - one[1]).map(([name, many]) => html`<a class="chip"
        key=${name} href=${href('traffic', { filter: 'error' })}>${visible(name)} · ${count(many)}</a>`)}</div>`}</section>
    <div class="table"><table><thead><tr><th>Server</th><th>What</th><th class="right">Calls</th><th class="right">Failed</th><th
      class="right">In us p50</th><th class="right">p99</th><th class="right">Server p50</th><th class="right">p99</th><th
      class="right">Tokens</th></tr></thead>
      <tbody>${[...lines]
        .sort((one, other) => Number(!one.server) - Number(!other.server) || other.calls - one.calls)
        .slice(0, 300)
        .map(
          (one) => html`<tr key=${id(one)}><td>${one.server ? line(one.server, 40) : html`<span class="quiet">–</span>`}</td>
        <td><button type="button" class="more" aria-pressed=${chosen === id(one)}
          onClick=${() => setChosen(chosen === id(one) ? null : id(one))}>${line(one.tool ?? one.method, 60)}
          </button>${one.tool ? '' : html` <${Chip}>method<//>`}</td>
        <td class="right">${count(one.calls)}</td><td class="right">${one.errors ? html`<span class="bad-text">${count(one.errors)}
          </span>` : '0'}</td><td class="right tight">${time(one.ours.p50)}</td><td class="right tight">${time(one.ours.p99)}</td><td
          class="right tight">${time(one.theirs.p50)}</td><td class="right tight">${time(one.theirs.p99)}</td><td
          class="right">${count(one.tokens)}</td></tr>`,
        )}</tbody></table></div>`;
}

function Bill() {
  const read = useRead((signal) => get('bill', null, signal), []);
  if (!read.value)
    return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} rows=${5} />`;
  const { lists, days } = read.value;
  if (lists.length === 0)
    return html`<${Empty}
      title="Nobody has asked for a list yet">What each client's list of tools costs a model is here once a client is connected.<//>`;
  return html`<p class="quiet">What the definitions of tools cost a model at the beginning of every session: bytes / 4, an estimate. Calls were counted over ${plural(days, 'day')}.</p>
    <div class="stack">${lists.map(
      (list) => html`<section class="card stack" key=${list.principal} data-testid="bill">
      <div class="row"><h2>${visible(list.principal)}</h2><span class="grow"></span><strong>≈ ${count(list.tokens)} tokens</strong></div>
      <svg class="share" viewBox="0 0 100 10" preserveAspectRatio="none" role="img"
        aria-label=${`${list.unusedTokens} of ${list.tokens} tokens are of tools that nobody called`}><rect class="used"
        width=${100 - share(list)} height="10" /><rect class="unused" x=${100 - share(list)} width=${share(list)} height="10" /></svg>
      <p>${plural(list.tools, 'tool')}; ${list.unused.length ? html`<strong>${list.unused.length} of them never called cost ≈ ${count(list.unusedTokens)} tokens</strong> in every session.` : 'all of them are used.'}
        </p>
      ${
        list.unused.length > 0 &&
        html`<div class="row">${list.defer && html`<${Copy} label="Copy the command that defers them"
          text=${list.defer} />`}${list.hide && html`<${Copy} label="Copy the command that hides them" text=${list.hide} />`}<a
          class="button small" href=${href('tools', { sort: 'calls' })}>Choose in the table</a></div>
        <details><summary>Which</summary><div class="row">${list.unused.slice(0, 400).map((tool) => html`<a class="chip" key=${tool.tool}
          href=${href('tools', { find: tool.tool })}>${line(tool.tool, 60)} · ${count(tool.tokens)}</a>`)}</div></details>`
      }
    </section>`,
    )}</div>`;
}

const share = (list) => (list.tokens ? (list.unusedTokens / list.tokens) * 100 : 0);
