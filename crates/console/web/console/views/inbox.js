// Everything that waits for a person.
import { html, useEffect } from '../html.js';
import { get } from '../api.js';
import { useKeys } from '../keys.js';
import { go, href } from '../router.js';
import { hear } from '../store.js';
import { line } from '../parts/format.js';
import { Question, KINDS } from '../parts/question.js';
import { Chip, Empty, Fault, Segments, Skeleton, useRead, When } from '../parts/ui.js';

export function Inbox({ id, query }) {
  const all = query.all === 'true';
  const read = useRead((signal) => get('questions', { all: all || undefined }, signal), [all]);
  useEffect(
    () =>
      hear((event) => {
        if (event.kind === 'question' || event.kind === 'reset') read.again();
      }),
    [],
  );
  const questions = read.value?.questions ?? [];
  const at = questions.findIndex((question) => question.id === id);
  const move = (by) => {
    const next = questions[Math.min(Math.max(at + by, 0), questions.length - 1)];
    if (next) go(['inbox', next.id], { all: query.all });
  };
  useKeys([
    ['j', 'next question', () => move(1)],
    ['k', 'question before', () => move(-1)],
    ['Escape', 'back to the list', () => go('inbox', { all: query.all })],
  ]);
  return html`<div class="page"><div class="head"><h1>Inbox</h1><span class="grow"></span>
      <${Segments} label="which questions" value=${all ? 'all' : 'open'}
        onChange=${(key) => go('inbox', { all: key === 'all' ? 'true' : '' })} options=${[
        ['open', 'Waiting'],
        ['all', 'All'],
      ]} />
      <p class="sub">Whatever waits for a person. The first answer counts, wherever it is given.</p>
        </div>
    <${Fault} of=${read.fault} again=${read.again} />
    ${
      !read.value
        ? html`<${Skeleton} rows=${4} />`
        : questions.length === 0 && !id
          ? html`<${Empty} title="Nothing waits for you" action=${html`<a class="button"
            href=${href('inbox', { all: 'true' })}>What was answered</a>`}>Calls that wait for a yes or are held at a breakpoint, forms and pages of servers, sign-ins, servers to approve and definitions that changed appear here by themselves. Rules are set under <a
            href=${href('tools')}>Tools</a>.<//>`
          : html`<div class=${`inbox ${id ? 'chosen' : ''}`}><ul class="list" aria-label="Questions">${questions.map(
              (question) => html`<li key=${question.id}>
          <a class="asked" href=${href(['inbox', question.id], { all: query.all })} aria-current=${question.id === id ? 'true' : undefined}
            data-testid="question">
            <span class="row"><${Chip}>${KINDS[question.kind] ?? question.kind}
              <//>${question.status !== 'open' && html`<${Chip}>${question.status}<//>`}<span class="grow"></span><span class="quiet small">
              <${When} at=${question.at} /></span></span>
            <strong>${line(question.title, 160)}</strong><span
              class="quiet small">${line([question.server, question.client ?? question.principal].filter(Boolean).join(' · '), 80)}</span>
              </a></li>`,
            )}${questions.length === 0 && html`<li class="quiet card">Nothing else waits for you.</li>`}</ul>
        ${id ? html`<${One} key=${id} id=${id} known=${questions[at]} after=${() => read.again()} />` : html`<p
          class="quiet card">Choose a question. <span class="by-keys"><kbd>j</kbd> and <kbd>k</kbd> go through them.</span></p>`}</div>`
    }
  </div>`;
}

function One({ id, known, after }) {
  const read = useRead((signal) => get(`questions/${encodeURIComponent(id)}`, null, signal), [id, known?.status]);
  const question = read.value ?? known;
  if (!question)
    return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} rows=${4} />`;
  // What was left out has come: it begins with all of it.
  return html`<${Question} key=${String(question.partial)} question=${question} after=${() => {
    read.again();
    after();
  }} />`;
}
