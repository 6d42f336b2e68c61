// Why a sign-in does not work out: each step as it happened, without what is secret.
import { html, useEffect } from '../html.js';
import { get, part } from '../api.js';
import { route } from '../router.js';
import { clockTime, visible } from './format.js';
import { Chip, Empty, Fault, Skeleton, useRead, Word } from './ui.js';

const NAMES = {
  challenge: 'Asks the server what it wants',
  resource: 'Looks where to sign in',
  metadata: 'Reads how the authorization server works',
  registration: 'Registers as a client',
  authorize: 'Sends somebody to the page',
  token: 'Exchanges what came back for a token',
  revocation: 'Ends the sign-in there',
  request: 'Asks',
};
const WORDS = { 'under-way': 'running', done: 'signed-in', failed: 'failed', none: 'unknown' };

export function SignSteps({ name, server, act }) {
  const read = useRead(
    (signal) => get(`servers/${part(name)}/sign-in`, null, signal),
    [name, server.signIn.word, route.value.query.tried],
  );
  const outcome = read.value?.outcome;
  useEffect(() => {
    // It may begin in a dialog over this one, or elsewhere.
    const timer = setInterval(read.again, outcome === 'under-way' ? 1000 : 3000);
    return () => clearInterval(timer);
  }, [outcome]);
  if (!read.value) return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} />`;
  const { steps, fault, remedy } = read.value;
  if (steps.length === 0)
    return html`<${Empty} title="Nobody has tried to sign in here yet" action=${act}>Every step is shown here as it happens: what was asked, what came back, and what to do where it fails.<//>`;
  return html`<div class="stack" data-testid="sign-steps"><div class="row"><${Word} word=${WORDS[outcome] ?? outcome}
    text=${outcome.replace('-', ' ')} />${outcome === 'under-way' && html`<span class="quiet small">this follows by itself</span>`}</div>
    ${fault && html`<${Fault} of=${{ message: fault, hint: remedy }} />`}
    <ol class="steps">${steps.map((step, at) => html`<li key=${at}><${Step} step=${step} last=${at === steps.length - 1 && outcome === 'failed'} /></li>`)}</ol></div>`;
}

const Lines = ({ title, lines }) => html`<div><h4>${title}</h4>${lines.length ? html`<pre class="block small" tabindex="0">${visible(lines.join('\n'))}</pre>` : html`<p
  class="quiet small">nothing</p>`}</div>`;

function Step({ step, last }) {
  const bad = step.fault !== null || (step.status !== null && step.status >= 400 && step.what !== 'challenge');
  return html`<details open=${last} data-testid="sign-step" data-what=${step.what}><summary class="row">
      <strong>${NAMES[step.what] ?? visible(step.what)}</strong>
      ${step.status !== null && html`<${Chip} kind=${bad ? 'warn' : ''}>${step.status}<//>`}
      <span class="quiet small">${clockTime(step.at)}${step.status === null ? '' : `, ${step.took} ms`}</span></summary>
    <div class="stack"><p><code>${step.method} ${visible(step.url)}</code></p>
      ${step.fault && html`<p class="wrong">${visible(step.fault)}</p>`}
      <div class="halves"><${Lines} title="Sent" lines=${step.sent} />${step.what === 'authorize' ? html`<p
        class="quiet small">A person went on from here in a browser.</p>` : html`<${Lines} title="Came back" lines=${step.answered} />`}</div></div></details>`;
}
