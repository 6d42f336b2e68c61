// Definitions that are not what was pinned: what was, what is, and a yes to just that.
import { html, useState } from '../html.js';
import { get, part, post } from '../api.js';
import { may } from '../session.js';
import { listed } from '../store.js';
import { visible } from './format.js';
import { Change } from './question.js';
import { attempt, Button, Fault, Skeleton, toast, useRead } from './ui.js';

export function Pins({ server }) {
  const read = useRead(
    (signal) => get(`pins/${part(server.name)}`, null, signal),
    [server.name, server.held, listed.value[server.name]],
  );
  const [without, setWithout] = useState(new Set());
  if (!read.value) return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} />`;
  const { changes, held, digest } = read.value;
  const names = [...new Set([...held, ...changes.map((change) => change.of)])];
  if (names.length === 0)
    return html`<p class="note">All definitions are what they were when they were approved, or none is pinned.</p>`;
  const toggle = (name) =>
    setWithout((before) => {
      const made = new Set(before);
      if (!made.delete(name)) made.add(name);
      return made;
    });
  const only = names.filter((name) => !without.has(name));
  const approve = () =>
    attempt(async () => {
      await post(`pins/${part(server.name)}`, { digest, only: without.size ? only : [] });
      toast('Approved: clients see them as they are now');
      read.again();
    });
  return html`<div class="stack" data-testid="pins"><p
    class="note warn">These changed since they were approved. Clients do not get them before you say so.</p>
    <div class="row">${names.map((name) => html`<label class="row" key=${name}><input type="checkbox" checked=${!without.has(name)}
      onChange=${() => toggle(name)} /> ${visible(name)}</label>`)}</div>
    ${changes.map((change, at) => html`<${Change} key=${at} change=${change} />`)}
    <div><${Button} kind="primary" disabled=${!may('admin') || only.length === 0} onClick=${approve}
      data-testid="approve-pins">Approve ${only.length === names.length ? 'all of it' : only.length}<//></div></div>`;
}
