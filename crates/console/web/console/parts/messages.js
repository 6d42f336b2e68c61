// Messages at the four edges of us, in the order in which they crossed. What we changed is
// marked, with the row of the list of rewrites that allows it.
import { html, useState } from '../html.js';
import { parse, stringify } from '../json.js';
import { bytes, time, visible } from './format.js';
import { Chip, Copy, Segments } from './ui.js';

const EDGES = [
  ['from-client', 'client → us'],
  ['to-server', 'us → server'],
  ['from-server', 'server → us'],
  ['to-client', 'us → client'],
];
const SHOWN = 60_000;

/** The text in pieces, those that we changed marked. Spans count bytes. */
export function pieces(text, edits) {
  const spans = edits
    .filter((edit) => edit.span)
    .map((edit) => ({ from: edit.span[0], to: edit.span[1], edit }))
    .sort((one, other) => one.from - other.from);
  if (spans.length === 0) return [{ text }];
  const whole = new TextEncoder().encode(text);
  const decode = (from, to) => new TextDecoder().decode(whole.subarray(from, to));
  const made = [];
  let at = 0;
  for (const { from, to, edit } of spans) {
    if (from < at || to > whole.length) continue;
    if (from > at) made.push({ text: decode(at, from) });
    made.push({ text: decode(from, to), edit });
    at = to;
  }
  if (at < whole.length) made.push({ text: decode(at, whole.length) });
  return made;
}

function pretty(text) {
  try {
    return stringify(parse(text));
  } catch {
    return text;
  }
}

function Message({ message, form }) {
  const [open, setOpen] = useState(message.kind !== 'notice');
  const [whole, setWhole] = useState(false);
  const { edits } = message;
  const changed = edits.length > 0;
  const shown = whole ? message.text : message.text?.slice(0, SHOWN);
  return html`<div class=${`message ${changed ? 'changed' : ''}`} data-testid="message" data-edge=${message.edge}>
    <button type="button" aria-expanded=${open} onClick=${() => setOpen(!open)}>
      <span class="edge-of">${EDGES.find(([key]) => key === message.edge)?.[1]}</span>
      <strong>${visible(message.method ?? message.kind)}</strong>${message.method && html`<span class="quiet small">${message.kind}</span>`}
      <span class="grow"></span>${changed && html`<${Chip} kind="warn">${edits.length} changed<//>`}${message.secrets > 0 && html`<${Chip}
        kind="warn">${message.secrets} cut<//>`}<span class="quiet small">${bytes(message.bytes)}</span></button>
    ${
      open &&
      (message.text === null
        ? html`<pre class="quiet">not kept</pre>`
        : html`
      <pre tabindex="0">${
        form === 'pretty' && message.text.length < SHOWN
          ? visible(pretty(message.text))
          : pieces(shown, edits).map((piece, at) =>
              piece.edit
                ? html`<mark key=${at} title=${`${piece.edit.path}: ${piece.edit.row ?? piece.edit.what}`}>${visible(piece.text)}</mark>`
                : visible(piece.text),
            )
      }${!whole && message.text.length > SHOWN ? html`<button type="button" class="more"
        onClick=${() => setWhole(true)}>… ${bytes(message.text.length - SHOWN)} more</button>` : null}</pre>`)
    }
    ${open && changed && html`<div class="edits">${edits.map((edit, at) => html`<span key=${at} data-testid="edit">
      <code>${visible(edit.path) || '/'}</code> ${edit.what}${edit.before !== null ? html`, was <code>${visible(edit.before).slice(0, 200)}
      </code>` : null} ${edit.row && html`<span class="quiet">(${visible(edit.row)})</span>`}</span>`)}</div>`}
    ${open && message.text && html`<div class="edits row"><${Copy} text=${message.text} /></div>`}
  </div>`;
}

/** Messages in rows: what was made of a message stands beside it. */
export function rows(messages) {
  const made = [];
  const where = new Map();
  for (const [at, message] of messages.entries()) {
    const beside = message.madeOf === null ? undefined : where.get(message.madeOf);
    const last = made.length - 1;
    if (beside === last && last >= 0 && !made[last].some((one) => one.edge === message.edge)) made[last].push(message);
    else made.push([message]);
    where.set(at, made.length - 1);
  }
  return made;
}

export function Messages({ messages }) {
  const [form, setForm] = useState('raw');
  return html`<div class="stack" data-testid="messages">
    <div class="row"><h2>Messages</h2><span class="grow"></span><${Segments} label="how messages are shown" value=${form}
      onChange=${setForm} options=${[
      ['raw', 'As they were', 'byte for byte, with what we changed marked'],
      ['pretty', 'Indented'],
    ]} /></div>
    <div class="edges"><span class="gap"></span>${EDGES.map(([key, name]) => html`<span key=${key} class="edge-name">${name}</span>`)}
      ${rows(messages).map(
        (row, at) =>
          html`<span class="at" key=${`at-${at}`}>${time(Math.min(...row.map((one) => one.at)))}</span>${EDGES.map(
            ([key]) => {
              const message = row.find((one) => one.edge === key);
              return message
                ? html`<${Message} key=${`${at}-${key}`} message=${message} form=${form} />`
                : html`<span class="gap" key=${`${at}-${key}`}></span>`;
            },
          )}`,
      )}
    </div></div>`;
}
