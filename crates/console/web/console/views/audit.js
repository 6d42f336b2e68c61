// The record: what was done, by whom.
import { html, useState } from '../html.js';
import { get } from '../api.js';
import { replace } from '../router.js';
import { dateTime, line, visible } from '../parts/format.js';
import { Tree } from '../parts/tree.js';
import { Empty, Fault, Skeleton, useRead } from '../parts/ui.js';

export function Audit({ query }) {
  const filter = query.filter ?? '';
  const read = useRead((signal) => get('audit', { filter }, signal), [filter]);
  return html`<div class="page"><div class="head"><h1>Audit</h1><span class="grow"></span><input type="search" class="searchbox"
    aria-label="filter the record" placeholder="filter" value=${filter}
    onInput=${(event) => replace('audit', { filter: event.target.value })} />
      <p class="sub">What was called, answered, changed and refused, newest first.</p></div>
    <${Fault} of=${read.fault} again=${read.again} />
    ${
      !read.value
        ? !read.fault && html`<${Skeleton} rows=${8} />`
        : !read.value.kept
          ? html`<${Empty} title="No record is kept">Start the gateway with <code>--audit FILE</code>, or set it in the settings, and what happens is put on record.<//>`
          : read.value.records.length === 0
            ? html`<${Empty} title="Nothing on record">${filter ? 'Nothing matches.' : 'Nothing has happened yet.'}<//>`
            : html`<div class="table records"><table><thead><tr><th>When</th><th>What</th><th>Who</th><th>About</th></tr></thead>
              <tbody>${read.value.records.toSorted(later).map((record, at) => html`<${Row} key=${at} record=${record} />`)}</tbody></table>
              </div>${read.value.more && html`<p class="quiet">There are older ones: <code>switchboard audit</code> has them all.</p>`}`
    }
  </div>`;
}

// A call is put on record when it ends, with when it began.
const later = (one, other) => began(other) - began(one) || (other.n ?? 0) - (one.n ?? 0);
const began = (record) => {
  const text = first(record, TIMES);
  return (/^\d+$/.test(text) ? Number(text) : Date.parse(text)) || 0;
};
const TIMES = ['at', 'time', 'when', 'ts'];

const first = (record, keys) => {
  for (const key of keys)
    if (record?.[key] !== undefined && record[key] !== null)
      return typeof record[key] === 'object' ? JSON.stringify(record[key]) : String(record[key]);
  return '';
};

const when = (text) => {
  const at = /^\d+$/.test(text) ? Number(text) : Date.parse(text);
  return Number.isFinite(at) && text ? html`<time dateTime=${new Date(at).toISOString()}>${dateTime(at)}</time>` : line(text, 30) || 'record';
};

function Row({ record }) {
  const [open, setOpen] = useState(false);
  return html`<tr data-testid="record"><td class="tight"><button type="button" class="more" aria-expanded=${open}
    onClick=${() => setOpen(!open)}>${when(first(record, TIMES))}</button></td>
    <td>${line(first(record, ['event', 'kind', 'what', 'did', 'method', 'action']), 60)} ${line(first(record, ['outcome', 'answer', 'decision', 'status']), 30)}
      </td><td>${line(first(record, ['principal', 'by', 'who', 'user', 'client']), 40)}</td>
    <td>${line([first(record, ['server']), first(record, ['tool', 'name', 'target', 'file'])].filter(Boolean).join(' · '), 120) || visible('')}</td></tr>
    ${open && html`<tr class="whole"><td colspan="4"><${Tree} value=${record} /></td></tr>`}`;
}
