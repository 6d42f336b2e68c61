// One tool: what it is, its form, and what it answers.
import { html, useEffect, useState } from '../html.js';
import { get, part } from '../api.js';
import { parse, stringify } from '../json.js';
import { href } from '../router.js';
import { make, questionOf, runOf } from '../runs.js';
import { may } from '../session.js';
import { serverNamed } from '../store.js';
import { count, line, plural, time, visible } from '../parts/format.js';
import { AppOf } from '../parts/app.js';
import { Form, useValue } from '../parts/form.js';
import { Result } from '../parts/result.js';
import { Tree } from '../parts/tree.js';
import { attempt, Button, Chip, Copy, Dialog, Empty, Fault, Skeleton, useRead, Word } from '../parts/ui.js';

export function ToolPage({ server, tool, query }) {
  const known = serverNamed(server);
  const read = useRead(
    async (signal) => {
      const look = async () => {
        const { tools } = await get('tools', { server: known?.name ?? server }, signal);
        return tools.find((one) => one.name === tool || one.shown === tool || one.canonical === tool) ?? null;
      };
      // Nobody may have asked the server yet: its own list wakes it.
      return (await look()) ?? (await get(`servers/${part(known?.segment ?? server)}/tools`, null, signal).then(look));
    },
    [server, tool],
  );
  const crumbs = html`<p class="crumbs"><a href=${href('servers')}>Servers</a> / <a
    href=${href(['servers', server, 'tools'])}>${visible(known?.name ?? server)}</a> / tools</p>`;
  if (read.busy && !read.value) return html`<div class="page">${crumbs}<${Skeleton} rows=${6} /></div>`;
  if (read.fault) return html`<div class="page">${crumbs}<${Fault} of=${read.fault} again=${read.again} /></div>`;
  if (!read.value)
    return html`<div class="page">${crumbs}<${Empty} title="There is no such tool" action=${html`<a class="button"
      href=${href(['servers', server, 'tools'])}>Its tools</a>`}>The server does not list <code>${visible(tool)}
      </code>, or a rule hides it.<//></div>`;
  return html`<${Shown} tool=${read.value} crumbs=${crumbs} given=${query.arguments} after=${read.again} />`;
}

function first(given) {
  try {
    return given ? parse(given) : {};
  } catch {
    return {};
  }
}

function Shown({ tool, crumbs, given, after }) {
  const definition = tool.definition ?? {};
  const schema = definition.inputSchema ?? { type: 'object' };
  const [kept] = useState(() => {
    const here = href(['servers', tool.server, 'tools', tool.name], { arguments: given });
    return runOf(here, here, tool.server, schema);
  });
  const edited = useValue(first(given), kept.typed);
  const [made, fault, busy, asking] = [kept.made.value, kept.fault.value, kept.busy.value, kept.asking.value];
  const question = questionOf(kept);
  const notAsking = () => {
    kept.asking.value = null;
  };
  useEffect(() => notAsking, []);
  // It has one call more than was read.
  useEffect(() => made && after(), [made?.id]);
  const [source, setSource] = useState(false);
  const [explained, setExplained] = useState(null);
  const support = definition.execution?.taskSupport;
  const [asTask, setAsTask] = useState(support === 'required');
  const run = (confirmed = false) => {
    if (edited.bad !== null || busy) return undefined;
    const head = stringify({ server: tool.server, method: 'tools/call', confirmed }, '').slice(0, -1);
    const named = `"name":${stringify(tool.name, '')},"arguments":${edited.text}`;
    return make(kept, asTask ? `${head},"params":{${named},"task":{}}}` : `${head},${named}}`, edited.text);
  };
  const why = () => attempt(async () => setExplained((await get(`explain/${part(tool.canonical)}`)).lines));
  const hints = definition.annotations ?? {};
  return html`<div class="page" data-testid="tool-page"><div class="head">${crumbs}<h1>${line(tool.title ?? tool.name, 120)}</h1>
      <${Word} word=${tool.decision}
        title=${tool.rule ?? ''} />${tool.hidden && html`<${Chip}>hidden<//>`}${tool.readOnly && html`<${Chip}>changes nothing<//>`}
      ${hints.destructiveHint && html`<${Chip}
        kind="warn">may destroy<//>`}${hints.openWorldHint && html`<${Chip}>reaches out<//>`}${tool.pin === 'changed' && html`<${Chip}
        kind="warn">changed since it was pinned<//>`}
      <span class="grow"></span><${Button} small onClick=${why} title="why it is there, and who decides about it">Why<//><${Button} small
        onClick=${() => setSource(true)}>Definition<//>
      <p class="sub"><code>${visible(tool.shown)}
        </code> · ≈ ${count(tool.tokens)} tokens · ${plural(tool.calls, 'call')}${tool.calls ? `, half of them within ${time(tool.p50)}` : ''}
        </p>
      ${tool.description && html`<p class="sub">${visible(tool.description).slice(0, 2000)}</p>`}</div>
    <div class="halves">
      <section class="card stack" aria-label="Arguments"><${Form} schema=${schema} edited=${edited} onRun=${() => run()}
        tried=${Boolean(made || fault)} />
        <div class="row"><${Button} kind="primary" icon="play" disabled=${busy || edited.bad !== null || !may('operator')}
          onClick=${() => run()} data-testid="run">${busy ? 'Running…' : 'Call it'}<//>
          ${busy && html`<${Button} onClick=${() => kept.stop?.abort()}>Cancel<//>`}<span class="quiet small">
            <kbd>Ctrl</kbd> <kbd>Enter</kbd></span>
          <span class="grow"></span><${Copy} label="Copy arguments" text=${() => edited.text} /></div>
        ${
          ['optional', 'required'].includes(support) &&
          html`<label class="row"><input type="checkbox" checked=${asTask} disabled=${support === 'required'}
            onChange=${(event) => setAsTask(event.target.checked)} data-testid="as-task" /> As a task, which goes on without us</label>`
        }
        ${!may('operator') && html`<p class="note">Your role may look, not call.</p>`}</section>
      <section class="card stack" aria-label="Answer" aria-live="polite">
        <${Fault} of=${fault} />
        ${
          made
            ? html`<div class="row"><${Word} word=${made.call.outcome} /><span>${time(made.call.took)}</span><span
              class="quiet small">of these ${time(made.call.atServer)} at the server</span><span class="grow"></span><a
              href=${href(['traffic', String(made.id)])} data-testid="both-sides">Both sides of it</a></div><${Result} made=${made} />
              ${made.result?.task && html`<p><a href=${href(['servers', tool.server, 'tasks'])} data-testid="to-tasks">Tasks of this server
                </a></p>`}
              ${made.result && html`<${AppOf} key=${made.id} server=${tool.server} tool=${definition} given=${made.given}
                result=${made.result} />`}`
            : busy
              ? question
                ? html`<div class="note warn stack" role="status" data-testid="wants-answer">
                  <p><strong>${line(tool.server, 60)} asks something before it goes on</strong>${question.text ? html`: ${line(question.text, 300)}` : ''}</p>
                  <div class="row"><a class="button primary" href=${href(['inbox', question.id])}>Answer it</a><span
                    class="quiet small">The call waits. What it brings is shown here when you come back.</span></div></div>`
                : html`<p class="quiet" role="status">Running…</p>`
              : !fault && html`<p class="quiet">What it answers is shown here, and with both its sides under Traffic.</p>`
        }</section></div>
    ${asking && html`<${Dialog} title="A rule asks first" onClose=${notAsking} foot=${html`<${Button}
      onClick=${notAsking}>Do not<//><${Button} kind="primary" onClick=${() => run(true)} data-testid="confirm">Call it<//>`}>
      <p>${visible(asking.message)}</p>${asking.hint && html`<p class="quiet">${visible(asking.hint)}</p>`}<//>`}
    ${explained && html`<${Dialog} wide title="Why" onClose=${() => setExplained(null)}><pre class="block aligned" tabindex="0">${visible(explained.join('\n'))}
      </pre><//>`}
    ${source && html`<${Dialog} wide title="As the server wrote it" onClose=${() => setSource(false)}><${Tree} value=${definition}
      open=${4} /><//>`}
  </div>`;
}
