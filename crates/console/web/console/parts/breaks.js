// Breakpoints: calls that are held on their way. Where any are set, a bar on every page says so.
import { html, useState } from '../html.js';
import { post, remove } from '../api.js';
import { href } from '../router.js';
import { may } from '../session.js';
import { breakpoints } from '../store.js';
import { line, plural } from './format.js';
import { attempt, Button, Dialog, Fault } from './ui.js';

const AT = { call: 'calls', result: 'results', both: 'calls and results' };

const taken = async (doing) => {
  breakpoints.value = await doing;
};

/** What is held just now, and how to end that. */
export function BreakBar() {
  const state = breakpoints.value;
  if (!state || (state.breakpoints.length === 0 && state.held === 0)) return null;
  const filters = state.breakpoints.map((one) => `${AT[one.at]}: ${one.filter || 'all'}`).join(' · ');
  return html`<div class="note warn breakbar" role="status" data-testid="break-bar">
    <span><strong>${state.breakpoints.length > 0 ? 'Breakpoints hold' : 'Still held'}</strong> ${line(filters, 200)}
      ${state.missed > 0 && html`<span class="quiet small"> (${plural(state.missed, 'message')} could not be held)</span>`}</span>
    <span class="grow"></span>
    <a class="button small" href=${href('inbox')} data-testid="break-held">${state.held} held</a>
    ${state.breakpoints.length > 0 && html`<${Button} small disabled=${!may('operator')} data-testid="break-clear"
      onClick=${() => attempt(() => taken(remove('breakpoints')))}>Remove${state.breakpoints.length > 1 ? ' all' : ''}<//>`}
  </div>`;
}

/** Sets one for what the filter says, and shows those there are. */
export function SetBreakpoint({ filter, onClose }) {
  const [text, setText] = useState(filter);
  const [at, setAt] = useState('call');
  const [fault, setFault] = useState(null);
  const set = () => attempt(() => taken(post('breakpoints', { filter: text, at })).then(onClose), setFault);
  return html`<${Dialog} title="Hold calls" onClose=${onClose} foot=${html`<${Button} kind="primary" onClick=${set}
    data-testid="break-set">Hold them<//>`}>
    <p>What matches waits in the inbox until you let it go, as it is or changed. It ends by its own time-out if you do not.</p>
    <label class="field"><span class="name">Which calls</span><input value=${text} autofocus spellcheck="false" data-testid="break-filter"
      placeholder="server:git tool:*delete*" onInput=${(event) => setText(event.target.value)} /></label>
    <label class="field"><span class="name">What is held</span><select value=${at} data-testid="break-at"
      onChange=${(event) => setAt(event.target.value)}><option value="call">The call, before it goes to its server</option>
      <option value="result">Its result, before that goes to its client</option><option value="both">Both</option></select></label>
    <${Fault} of=${fault} />
    ${
      (breakpoints.value?.breakpoints ?? []).length > 0 &&
      html`<ul class="plain-list">${breakpoints.value.breakpoints.map(
        (one) => html`<li key=${one.id} class="row"><span>${AT[one.at]}: <code>${line(one.filter || 'all', 160)}</code>
          <span class="quiet small"> held ${one.hits}</span></span><span class="grow"></span>
          <${Button} small onClick=${() => attempt(() => taken(remove(`breakpoints/${one.id}`)))}>Remove<//></li>`,
      )}</ul>`
    }<//>`;
}
