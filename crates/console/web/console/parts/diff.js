// What differs: two values by path, two texts by words, lines of a patch.
import { html } from '../html.js';
import { stringify } from '../json.js';
import { visible } from './format.js';

const Side = ({ value, kind }) =>
  value === undefined || (value === null && kind === 'absent')
    ? html`<span class="quiet">not there</span>`
    : html`<pre class=${kind}>${visible(stringify(value)).slice(0, 4000)}</pre>`;

/** Two values by path. */
export function ValueDiff({ differences, same = 'The same.' }) {
  if (differences.length === 0) return html`<p class="note" data-testid="same">${same}</p>`;
  return html`<div class="table diff" data-testid="differences"><table><thead><tr><th>Where</th><th>Before</th><th>After</th></tr></thead>
    <tbody>
    ${differences.map((one) => html`<tr key=${one.path}><td class="path">${visible(one.path) || '(whole)'}</td><td><${Side}
      value=${one.before} kind="before" /></td><td><${Side} value=${one.after} kind="after" /></td></tr>`)}
  </tbody></table></div>`;
}

/** Two texts: what they begin and end with is the same, what is between is marked. */
export function TextDiff({ before, after }) {
  const [one, other] = [visible(before ?? ''), visible(after ?? '')];
  const words = [one.split(/(\s+)/), other.split(/(\s+)/)];
  let head = 0;
  while (head < words[0].length && head < words[1].length && words[0][head] === words[1][head]) head += 1;
  let tail = 0;
  while (
    tail < words[0].length - head &&
    tail < words[1].length - head &&
    words[0].at(-1 - tail) === words[1].at(-1 - tail)
  )
    tail += 1;
  const parts = (list) => [
    list.slice(0, head).join(''),
    list.slice(head, list.length - tail).join(''),
    tail ? list.slice(-tail).join('') : '',
  ];
  const [was, is] = [parts(words[0]), parts(words[1])];
  return html`<div class="sides"><pre>${before === null || before === undefined ? html`<span
    class="quiet">was not there</span>` : html`${was[0]}<del>${was[1]}</del>${was[2]}`}</pre>
    <pre>${after === null || after === undefined ? html`<span class="quiet">is gone</span>` : html`${is[0]}<ins>${is[1]}</ins>${is[2]}`}
      </pre></div>`;
}

/** Lines of a patch. */
export const Patch = ({ lines }) =>
  html`<div class="block patch lines" data-testid="patch">${lines.map(
    (line, at) => html`
  <span key=${at} class=${line.startsWith('+') ? 'plus' : line.startsWith('-') ? 'minus' : line.startsWith('@@') ? 'at' : ''}>${visible(line)}
    </span>`,
  )}</div>`;
