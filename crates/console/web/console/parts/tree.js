// A JSON value that folds.
import { html, useState } from '../html.js';
import { kindOf, stringify } from '../json.js';
import { visible } from './format.js';

const MOST = 100;
const LONGEST = 2000;

function Leaf({ value }) {
  const [whole, setWhole] = useState(false);
  const kind = kindOf(value);
  if (kind === 'string') {
    const cut = !whole && value.length > LONGEST;
    return html`<span class="text">"${visible(cut ? value.slice(0, LONGEST) : value)}"</span>
      ${cut && html`<button type="button" class="more" onClick=${() => setWhole(true)}>… ${value.length - LONGEST} more</button>`}`;
  }
  return html`<span class=${kind === 'number' ? 'number' : 'other'}>${stringify(value)}</span>`;
}

function Node({ name, value, depth, open: openAt }) {
  const kind = kindOf(value);
  const [open, setOpen] = useState(depth < openAt);
  const [most, setMost] = useState(MOST);
  const key = name === undefined ? null : html`<span class="key">${visible(name)}</span>: `;
  if (kind !== 'object' && kind !== 'array') return html`${key}<${Leaf} value=${value} />`;
  const entries = kind === 'array' ? value : Object.keys(value);
  const many = entries.length;
  const [begin, end] = kind === 'array' ? ['[', ']'] : ['{', '}'];
  if (many === 0) return html`${key}${begin}${end}`;
  const turn = html`<button type="button" class="turn" aria-expanded=${open} aria-label=${`${open ? 'fold' : 'unfold'} ${name ?? 'value'}`}
    onClick=${() => setOpen(!open)}>${open ? '▾' : '▸'}</button>`;
  if (!open)
    return html`${turn} ${key}<span
      class="quiet">${begin} ${many} ${kind === 'array' ? (many === 1 ? 'item' : 'items') : many === 1 ? 'key' : 'keys'} ${end}</span>`;
  return html`${turn} ${key}${begin}<ul>${entries.slice(0, most).map(
    (entry, at) => html`<li key=${kind === 'array' ? at : entry}>
      <${Node} name=${kind === 'array' ? String(at) : entry} value=${kind === 'array' ? entry : value[entry]} depth=${depth + 1}
        open=${openAt} /></li>`,
  )}
    ${many > most && html`<li><button type="button" class="more" onClick=${() => setMost(most + 10 * MOST)}>${many - most} more</button>
      </li>`}</ul>${end}`;
}

export const Tree = ({ value, open = 3 }) =>
  html`<div class="tree"><${Node} value=${value} depth=${0} open=${open} /></div>`;
