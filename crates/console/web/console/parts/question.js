// One question, whole, and its answers.
import { html, useState } from '../html.js';
import { ask } from '../api.js';
import { stringify } from '../json.js';
import { href } from '../router.js';
import { madeAt } from '../runs.js';
import { me } from '../session.js';
import { now } from '../store.js';
import { safeLink, span, visible } from './format.js';
import { TextDiff } from './diff.js';
import { Form, useValue } from './form.js';
import { Tree } from './tree.js';
import { Button, Chip, Dialog, Fault, Link, toast, When } from './ui.js';

export const KINDS = {
  permission: 'May it?',
  form: 'Form',
  page: 'Page to visit',
  sampling: 'A model is asked',
  'sign-in': 'Sign-in',
  approval: 'Server to approve',
  changed: 'Changed definition',
  proposal: 'Proposed entry',
  held: 'Held',
};
const LABELS = {
  allow: 'Allow once',
  'allow-always': 'Always allow',
  deny: 'Deny',
  'deny-always': 'Never allow',
  accept: 'Send',
  decline: 'Decline',
  cancel: 'Cancel',
  approve: 'Approve',
  reject: 'Reject',
  release: 'Let it go',
  edit: 'Send as edited',
  refuse: 'Refuse',
};
/** What is held, by where it is. */
const HELD = { call: 'Arguments', result: 'Result', error: 'Error' };
// In these a server speaks, which is never to be trusted; in all others we do.
const THEIRS = ['form', 'page', 'sampling'];
const YES = ['allow', 'allow-always', 'accept', 'approve', 'release'];

/** What a model's answer looks like, to begin with. */
const ANSWER = { role: 'assistant', content: { type: 'text', text: '' }, model: 'a person', stopReason: 'endTurn' };

/** What to press is what fits what was done: a change is sent, and not lost. */
function tone(action, touched) {
  if (action === 'edit') return touched ? 'primary' : '';
  if (['reject', 'refuse'].includes(action) || action.startsWith('deny')) return 'danger';
  return YES.includes(action) && !action.endsWith('always') && !touched ? 'primary' : '';
}

function label(kind, action, touched) {
  if (kind === 'sign-in' && action === 'accept') return 'Sign in';
  if (kind === 'page' && action === 'accept') return 'I have done it';
  if (action === 'release' && touched) return 'Let it go as it was';
  return LABELS[action] ?? action;
}

export function Question({ question, after }) {
  const { kind } = question;
  const edited = useValue(kind === 'sampling' ? ANSWER : kind === 'held' ? (question.about ?? {}) : {});
  const [fault, setFault] = useState(null);
  const [busy, setBusy] = useState(false);
  const [opened, setOpened] = useState(null);
  const [picked, setPicked] = useState(null);
  const open = question.status === 'open';
  const origin = madeAt(question.id);
  const answer = async (action) => {
    setBusy(true);
    setFault(null);
    const head = { action, ...(picked && action === 'approve' && { only: [...picked] }) };
    const filled = action === 'edit' || ((kind === 'form' || kind === 'sampling') && action === 'accept');
    const content = filled ? `,"content":${edited.text}` : '';
    try {
      const taken = await ask('POST', `questions/${encodeURIComponent(question.id)}`, {
        text: `${stringify(head, '').slice(0, -1)}${content}}`,
      });
      toast(`Answered: ${LABELS[action] ?? action}`);
      if (taken?.open) setOpened(taken.open);
      after();
    } catch (refused) {
      // Somebody else was faster: that is told, and shown.
      setFault(
        refused.code === 'conflict'
          ? { message: 'Somebody else has answered this already.', hint: refused.message }
          : refused,
      );
      if (refused.code === 'conflict') after();
    }
    setBusy(false);
  };
  const touched = kind === 'held' && edited.text !== stringify(question.about ?? {});
  const editable = open && kind === 'held' && question.answers.includes('edit');
  const names = [...new Set(question.changes.map((change) => change.of))];
  const barred = (action) =>
    action === 'approve' && (kind === 'approval' || kind === 'proposal') && me.value?.mayApprove === false;
  return html`<article class="card stack" data-testid="question-page" data-kind=${kind}>
    <div class="row"><${Chip}>${KINDS[kind] ?? kind}<//>${question.server && html`<a
      href=${href(['servers', question.server])}>${visible(question.server)}</a>`}${question.call && html`<a
      href=${href(['traffic', String(question.call)])}>call ${question.call}</a>`}
      <span class="grow"></span><span class="quiet small">asked <${When}
        at=${question.at} />${open && question.until ? `, given up in ${span((question.until - now.value) / 1000)}` : ''}</span></div>
    <h2>${visible(question.title)}</h2>
    ${(question.principal || question.client) && html`<p
      class="quiet small">for ${visible(question.client ?? 'a client')} (${visible(question.principal ?? 'nobody')})${question.alsoClient ? ', which was asked as well' : ''}
      </p>`}
    ${question.text && html`<div><p
      class="quiet small">${THEIRS.includes(kind) ? `${visible(question.server ?? 'the server')} says` : 'Why'}</p><pre
      class="block said">${visible(question.text)}</pre></div>`}
    ${question.url && html`<${Page} url=${question.url} />`}
    ${editable && html`<${Held} label=${HELD[question.point] ?? 'What is held'} edited=${edited} />`}
    ${!editable && question.about !== null && question.about !== undefined && html`<div>
      <h3>${kind === 'permission' ? 'With these arguments' : kind === 'sampling' ? 'What the server wants to ask a model' : 'What it is about'}
      </h3><${Tree} value=${question.about} open=${4} /></div>`}
    ${
      question.changes.length > 0 &&
      html`<div class="stack">${
        names.length > 1 &&
        open &&
        html`<p class="row small">Which: ${names.map(
          (name) =>
            html`<label class="row" key=${name}><input type="checkbox" checked=${picked === null || picked.has(name)} onChange=${() =>
              setPicked((before) => {
                const made = new Set(before ?? names);
                if (!made.delete(name)) made.add(name);
                return made;
              })} /> ${visible(name)}</label>`,
        )}</p>`
      }
      ${question.changes.map((change, at) => html`<${Change} key=${at} change=${change} />`)}</div>`
    }
    ${open && kind === 'form' && question.schema && html`<${Form} schema=${question.schema} edited=${edited} tried=${fault !== null}
      onRun=${() => answer('accept')} />`}
    ${open && kind === 'sampling' && html`<${Sampling} edited=${edited} />`}
    <${Fault} of=${fault} />
    ${
      open
        ? html`<div class="answers">${question.answers.map((action) => html`<${Button} key=${action}
          kind=${tone(action, touched)} onClick=${() => answer(action)} data-testid=${`answer-${action}`}
          disabled=${busy || barred(action) || ((action === 'accept' || action === 'edit') && edited.bad !== null) || (action === 'edit' && !touched)}>
          ${label(kind, action, touched)}
          <//>`)}
        ${question.answers.some(barred) && html`<p
          class="quiet small">Approving what runs on this machine is not allowed here: <code>switchboard approve</code> does it in a terminal.</p>`}
          </div>`
        : html`<p class="note"
          data-testid="answered">${question.answered ? html`<strong>${LABELS[question.answered.action] ?? question.answered.action}
          </strong>, by ${visible(question.answered.by)}, <${When} at=${question.answered.at} />` : question.status.replace('-', ' ')}${origin && html` <a class="button small" href=${origin} data-testid="to-call">Back to the call</a>`}</p>`
    }
    ${opened && html`<${Dialog} title="Go on here" onClose=${() => setOpened(null)}><p><${Link} to=${opened}>Open the page<//></p><pre
      class="command">${visible(opened)}</pre><//>`}
  </article>`;
}

function Page({ url }) {
  const safe = safeLink(url);
  return html`<div class="note warn stack">
    <p>The server wants you to visit a page of <strong>${visible(safe?.host ?? 'an address that is not followed')}
    </strong>. What you type there goes to it.</p><p><${Link} to=${url}>Open it in a new tab<//></p><pre class="command">${visible(url)}
    </pre></div>`;
}

export const Change = ({
  change,
}) => html`<div class="change" data-testid="change"><header><strong>${visible(change.of)}</strong><code
  class="small">${visible(change.path)}</code>${change.warnings.map((warning, at) => html`<${Chip} key=${at} kind="bad">${visible(warning)}
  <//>`)}</header>
  <${TextDiff} before=${change.before} after=${change.after} /></div>`;

/** What is held, to be changed. What is not shown of it is put back where it is left alone. */
const Held = ({ label, edited }) => html`<label class="field"><span class="name">${label}</span><textarea
  rows=${Math.min(16, Math.max(4, edited.text.split('\n').length + 1))} spellcheck="false" class="mono" data-testid="held" value=${edited.text} aria-invalid=${edited.bad !== null}
  onInput=${(event) => edited.setText(event.target.value)}></textarea>${edited.bad && html`<span class="wrong">${edited.bad}</span>`}
  ${edited.text.includes('[redacted]') && html`<span class="quiet small">[redacted] stands for a secret: where it is left as it is, the secret is sent.</span>`}</label>`;

/** A model's answer by hand: its text, or all of it as JSON. */
function Sampling({ edited }) {
  const [whole, setWhole] = useState(false);
  const text = edited.value?.content?.text;
  if (whole || typeof text !== 'string')
    return html`<label class="field"><span class="name">The answer</span><textarea rows="10" spellcheck="false" value=${edited.text}
      aria-invalid=${edited.bad !== null} onInput=${(event) => edited.setText(event.target.value)}></textarea>${edited.bad && html`<span
      class="wrong">${edited.bad}</span>`}</label>`;
  const set = (event) =>
    edited.setValue({ ...edited.value, content: { ...edited.value.content, text: event.target.value } });
  return html`<label class="field"><span class="name">What the model would answer</span><textarea rows="5" value=${text} onInput=${set}>
    </textarea></label><div><${Button} small onClick=${() => setWhole(true)}>As JSON<//></div>`;
}
