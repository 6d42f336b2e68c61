// The same call again: as it was, edited, elsewhere, several times; and where the answer differs.
import { html, useEffect, useState } from '../html.js';
import { ask } from '../api.js';
import { differences, parse, stringify } from '../json.js';
import { servers } from '../store.js';
import { href } from '../router.js';
import { time } from './format.js';
import { ValueDiff } from './diff.js';
import { Result } from './result.js';
import { Button, Fault, Segments, Word } from './ui.js';

/** The arguments and the result that a call had. */
function had(messages) {
  const value = (message) => {
    try {
      return message?.text ? parse(message.text) : null;
    } catch {
      return null;
    }
  };
  const asked = value(messages.find((one) => one.edge === 'from-client' && one.kind === 'request'));
  const said = value(
    messages.findLast((one) => one.edge === 'to-client' && (one.kind === 'result' || one.kind === 'error')),
  );
  return { arguments: asked?.params?.arguments, result: said?.result ?? said?.error ?? null };
}

export function Replay({ detail }) {
  const { call } = detail;
  const first = had(detail.messages);
  const [text, setText] = useState(first.arguments === undefined ? '' : stringify(first.arguments));
  const [server, setServer] = useState('');
  const [era, setEra] = useState('');
  const [times, setTimes] = useState('1');
  const [sure, setSure] = useState(call.repeatable);
  const [done, setDone] = useState(null);
  const [fault, setFault] = useState(null);
  const [busy, setBusy] = useState(false);
  const [wrong, setWrong] = useState(null);
  useEffect(() => {
    try {
      if (text.trim()) parse(text);
      setWrong(null);
    } catch (bad) {
      setWrong(bad.message);
    }
  }, [text]);
  const run = async () => {
    setBusy(true);
    setFault(null);
    const changed = first.arguments === undefined ? text.trim() !== '' : text !== stringify(first.arguments);
    // The arguments go as they were typed, so that what is sent is what is shown.
    const rest = stringify(
      { ...(server && { server }), ...(era && { era }), times: Number(times) || 1, confirmed: sure },
      '',
    );
    const body = changed ? `${rest.slice(0, -1)},"arguments":${text}}` : rest;
    try {
      setDone(await ask('POST', `calls/${call.id}/replay`, { text: body }));
    } catch (refused) {
      setFault(refused);
    }
    setBusy(false);
  };
  const latest = done?.runs.at(-1);
  return html`<section class="card stack" aria-label="Replay" data-testid="replay-form">
    <h2>Replay</h2>
    <div class="halves">
      <div class="stack">
        <label class="field"><span class="name">Arguments</span>
          <textarea rows=${Math.min(16, Math.max(4, text.split('\n').length))} spellcheck="false" value=${text}
            aria-invalid=${wrong !== null} onInput=${(event) => setText(event.target.value)} data-testid="replay-arguments"></textarea>
          ${wrong && html`<span class="wrong" role="alert">${wrong}</span>`}</label>
        <div class="row">
          <label class="row">Server <select value=${server} onChange=${(event) => setServer(event.target.value)}><option
            value="">the same</option>${servers.value.map((one) => html`<option key=${one.name} value=${one.name}>${one.name}</option>`)}
            </select></label>
          <${Segments} label="era" value=${era} onChange=${setEra} options=${[
            ['', 'same era'],
            ['legacy', 'legacy'],
            ['modern', 'modern'],
          ]} />
          <label class="row">times <input type="number" min="1" max="100" value=${times}
            onInput=${(event) => setTimes(event.target.value)} /></label>
        </div>
        ${!call.repeatable && html`<label class="row note warn"><input type="checkbox" checked=${sure}
          onChange=${(event) => setSure(event.target.checked)}
          data-testid="replay-sure" /> This tool does not say that twice is as once. Call it again all the same.</label>`}
        <${Fault} of=${fault} />
        <div><${Button} kind="primary" icon="replay" disabled=${busy || wrong !== null || !sure} onClick=${run}
          data-testid="replay-run">${busy ? 'Running…' : 'Run again'}<//></div>
      </div>
      <div class="stack">${
        latest
          ? html`
        <div class="row"><${Word} word=${latest.call.outcome} /><span>${time(latest.call.took)}</span>${done.runs.map((run) => html`<a
          key=${run.id} href=${href(['traffic', String(run.id)])}>call ${run.id}</a>`)}</div>
        <${ValueDiff} differences=${first.result === null ? done.differences : differences(first.result, latest.result ?? latest.error ?? null)}
          same="The answer is the same as it was." />
        <${Result} made=${latest} />`
          : html`<p class="quiet">The new answer is shown here, beside where it differs from the first one.</p>`
      }</div>
    </div></section>`;
}
