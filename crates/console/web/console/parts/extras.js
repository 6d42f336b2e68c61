// What else a server can do: say how much it logs, keep tasks, complete what is typed.
import { html, useEffect, useState } from '../html.js';
import { part, post } from '../api.js';
import { may } from '../session.js';
import { hear } from '../store.js';
import { line, plural, visible } from './format.js';
import { Result } from './result.js';
import { attempt, Button, Empty, Fault, Skeleton, toast, useRead, When, Word } from './ui.js';

/**
 * A call of a method, and its result; what the server refuses is a fault.
 * @returns {Promise<any>}
 */
export async function asks(server, method, params, signal) {
  /** @type {any} */
  const made = await post('calls', { server, method, params }, signal);
  if (made.error)
    throw Object.assign(new Error(made.error.message ?? 'the server refused it'), {
      hint: made.error.code ? `code ${made.error.code}` : null,
    });
  return { ...made, result: made.result ?? {} };
}

const LEVELS = ['debug', 'info', 'notice', 'warning', 'error', 'critical', 'alert', 'emergency'];

/** How much the server is to say of what it does. */
export function LogLevel({ name, capabilities }) {
  if (!capabilities?.logging || !may('operator')) return null;
  const set = (event) => {
    const level = event.target.value;
    if (level)
      attempt(async () => {
        await asks(name, 'logging/setLevel', { level });
        toast(`${name} was told to log ${level} and worse`);
      });
  };
  return html`<label class="row">Have it log <select onChange=${set} data-testid="log-level"><option value="">as it does</option>
    ${LEVELS.map((level) => html`<option key=${level} value=${level}>${level} and worse</option>`)}</select></label>`;
}

/** Directories that the server hears of when it asks. */
export const Roots = ({ entry }) => {
  const roots = [entry?.roots ?? []].flat();
  return html`<dt>Roots</dt><dd>${
    roots.length
      ? roots.map((root, at) => html`<code key=${at}>${visible(root)}</code> `)
      : html`<span class="quiet">the folders of each client; <code>"roots"</code> in the entry names others</span>`
  }</dd>`;
};

/** Tasks that the server keeps for us. */
export function Tasks({ name }) {
  const read = useRead((signal) => asks(name, 'tasks/list', {}, signal), [name]);
  const [shown, setShown] = useState(null);
  const [fault, setFault] = useState(null);
  if (read.fault) return html`<${Fault} of=${read.fault} again=${read.again} />`;
  if (!read.value) return html`<${Skeleton} />`;
  const tasks = read.value.result.tasks ?? [];
  if (tasks.length === 0)
    return html`<${Empty} title="No tasks" action=${html`<${Button} onClick=${read.again}>Ask again<//>`}>A tool that takes long may be called as a task. Those of this page are here while the server keeps them.<//>`;
  const take = (task, method) =>
    attempt(async () => {
      setFault(null);
      setShown({ task, made: await asks(name, method, { taskId: task.taskId }) });
      read.again();
    }, setFault);
  return html`<div class="stack"><div class="table"><table><thead><tr><th>Task</th><th>State</th><th>Begun</th><th>
      <span class="hidden-label">what to do</span></th></tr></thead>
    <tbody>${tasks.map(
      (task) => html`<tr key=${task.taskId} data-testid="task"><td><code>${line(task.taskId, 60)}</code></td>
      <td><${Word} word=${task.status} /> <span class="quiet small">${line(task.statusMessage ?? '', 120)}</span></td>
      <td><${When} at=${Date.parse(task.createdAt) || null} /></td><td class="right">
        <${Button} small onClick=${() => take(task, 'tasks/result')}>Result<//> <${Button} small kind="danger"
          onClick=${() => take(task, 'tasks/cancel')}>Cancel<//></td></tr>`,
    )}</tbody></table></div>
    <${Fault} of=${fault} />${shown && html`<section class="card stack"><h2>${line(shown.task.taskId, 60)}</h2><${Result}
      made=${shown.made} /></section>`}</div>`;
}

/** What the server would complete the argument to that was typed last. */
export function Completion({ name, reference, edited }) {
  const [before, setBefore] = useState({});
  const [found, setFound] = useState(null);
  useEffect(() => {
    const now = edited.value ?? {};
    const argument = Object.keys(now).find((key) => typeof now[key] === 'string' && now[key] !== before[key]);
    if (!argument) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(async () => {
      setBefore(now);
      try {
        const params = { ref: reference, argument: { name: argument, value: now[argument] } };
        const { result } = await asks(name, 'completion/complete', params, stop.signal);
        const values = (result.completion?.values ?? []).filter((value) => typeof value === 'string');
        setFound({ argument, values: values.slice(0, 100) });
      } catch {
        // A server that completes nothing says so; it is typed all the same.
        setFound(null);
      }
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [edited.text]);
  if (!found?.values.length) return null;
  const take = (value) => {
    const next = { ...edited.value, [found.argument]: value };
    setBefore(next);
    setFound(null);
    edited.setValue(next);
  };
  return html`<div class="row" data-testid="completions"><span class="quiet small">${visible(found.argument)} may be</span>
    ${found.values.map((value) => html`<button type="button" class="chip" key=${value} onClick=${() => take(value)}>${line(value, 60)}</button>`)}</div>`;
}

/** Hears of a resource's changes while it is shown, and reads it again where it was read. */
export function Watch({ name, uri, again }) {
  // What the server has not been asked yet it may tell all the same: it is listened to before.
  const [wanted, setWanted] = useState(false);
  const [on, setOn] = useState(false);
  const [changes, setChanges] = useState(0);
  useEffect(() => {
    if (!wanted) return undefined;
    const stop = hear((event) => {
      if (event.kind !== 'updated' || event.uri !== uri) return;
      setChanges((before) => before + 1);
      again?.();
    });
    return stop;
  }, [wanted, uri, again]);
  // Whoever looks at something else wants to hear no more of it.
  useEffect(() => {
    if (!on) return undefined;
    return () => {
      post(`servers/${part(name)}/unsubscribe`, { uri }).catch(() => {});
    };
  }, [on, uri]);
  if (!may('operator')) return null;
  const change = (event) => {
    const now = event.target.checked;
    setWanted(now);
    attempt(async () => {
      try {
        if (now) await post(`servers/${part(name)}/subscribe`, { uri });
        setOn(now);
      } catch (fault) {
        setWanted(false);
        throw fault;
      }
    });
  };
  return html`<label class="row" aria-busy=${wanted !== on}><input type="checkbox" checked=${wanted} onChange=${change} data-testid="watch" data-on=${on} /> Tell me when it changes
    ${changes > 0 && html`<span class="quiet small" data-testid="changes">${plural(changes, 'change')} so far</span>`}</label>`;
}
