// Finds anything: views, servers, tools, calls, and what can be done.
import { html, useEffect, useMemo, useRef, useState } from '../html.js';
import { get } from '../api.js';
import { leave } from '../people.js';
import { href } from '../router.js';
import { servers } from '../store.js';
import { PLACES } from './frame.js';
import { Icon } from './icons.js';
import { visible } from './format.js';

let known = { at: 0, tools: [] };

/** How well a name fits what was typed: letters in their order, better where they begin words. */
export function score(name, typed) {
  const [text, wanted] = [name.toLowerCase(), typed.toLowerCase()];
  const whole = text.indexOf(wanted);
  if (whole >= 0) return 1000 - whole - text.length / 100;
  let at = -1;
  let points = 0;
  for (const sign of wanted) {
    const next = text.indexOf(sign, at + 1);
    if (next < 0) return -1;
    points += next === at + 1 ? 5 : /[\s_\-/.]/.test(text[next - 1] ?? ' ') ? 4 : 1;
    at = next;
  }
  return points - text.length / 100;
}

function entries(tools) {
  return [
    ...PLACES.map(({ path, label }) => ({ icon: path, name: label, what: 'view', to: href(path) })),
    { icon: 'setup', name: 'Add a server', what: 'set-up', to: href(['setup', 'add']) },
    { icon: 'setup', name: 'Tokens', what: 'set-up', to: href(['setup', 'tokens']) },
    { icon: 'setup', name: 'Connect a client', what: 'set-up', to: href(['setup', 'clients']) },
    { icon: 'setup', name: 'Files and entries', what: 'set-up', to: href(['setup', 'files']) },
    { icon: 'insight', name: 'Context bill', what: 'insight', to: href(['insight', 'bill']) },
    { icon: 'traffic', name: 'Calls that failed', what: 'traffic', to: href('traffic', { filter: 'error' }) },
    ...servers.value.map((server) => ({
      icon: 'servers',
      name: server.name,
      what: server.state.word,
      to: href(['servers', server.segment]),
    })),
    ...tools.map((tool) => ({
      icon: 'tools',
      name: tool.name,
      what: tool.server,
      to: href(['servers', tool.server, 'tools', tool.name]),
    })),
    { icon: 'out', name: 'Sign out', what: 'session', run: leave },
  ];
}

export function Palette({ onClose }) {
  const dialog = useRef(null);
  const [typed, setTyped] = useState('');
  const [at, setAt] = useState(0);
  const [tools, setTools] = useState(known.tools);
  useEffect(() => {
    dialog.current.showModal();
    if (Date.now() - known.at > 10_000) {
      get('tools').then(
        (list) => {
          known = { at: Date.now(), tools: list.tools };
          setTools(list.tools);
        },
        () => {},
      );
    }
  }, []);
  const found = useMemo(() => {
    const all = entries(tools);
    const wanted = typed.trim();
    if (!wanted) return all.slice(0, 14);
    if (/^#?\d+$/.test(wanted))
      all.push({
        icon: 'traffic',
        name: `Call ${wanted.replace('#', '')}`,
        what: 'traffic',
        to: href(['traffic', wanted.replace('#', '')]),
        best: true,
      });
    const scored = all.map((entry) => [
      entry.best ? 2000 : Math.max(score(entry.name, wanted), score(`${entry.what} ${entry.name}`, wanted) - 2),
      entry,
    ]);
    const good = scored
      .filter(([points]) => points > 0)
      .sort((one, other) => other[0] - one[0])
      .slice(0, 40)
      .map(([, entry]) => entry);
    return [
      ...good,
      {
        icon: 'search',
        name: `Search calls for “${typed}”`,
        what: 'traffic',
        to: href('traffic', { filter: `"${wanted.replaceAll('"', '')}"` }),
      },
    ];
  }, [typed, tools, servers.value]);
  const chosen = Math.min(at, found.length - 1);
  const take = (entry) => {
    onClose();
    if (entry.run) entry.run();
    else location.hash = entry.to;
  };
  const key = (event) => {
    if (event.key === 'ArrowDown') setAt(Math.min(chosen + 1, found.length - 1));
    else if (event.key === 'ArrowUp') setAt(Math.max(chosen - 1, 0));
    else if (event.key === 'Enter' && found[chosen]) take(found[chosen]);
    else return;
    event.preventDefault();
  };
  useEffect(() => {
    dialog.current?.querySelector('[aria-selected=true]')?.scrollIntoView({ block: 'nearest' });
  }, [chosen]);
  return html`<dialog ref=${dialog} class="palette" aria-label="Find anything" data-testid="palette" onCancel=${(
    event,
  ) => {
    event.preventDefault();
    onClose();
  }} onClick=${(event) => event.target === dialog.current && onClose()}>
    <input type="text" placeholder="A server, a tool, a view, a call's number …" value=${typed} role="combobox" aria-expanded="true"
      aria-controls="found" aria-activedescendant=${`found-${chosen}`}
      aria-label="Find" autocomplete="off" spellcheck="false" onInput=${(event) => {
        setTyped(event.target.value);
        setAt(0);
      }} onKeyDown=${key} autofocus />
    <ul id="found" role="listbox" aria-label="Found">${found.map(
      (entry, place) => html`
      <li key=${place} id=${`found-${place}`} role="option" aria-selected=${place === chosen} onClick=${() => take(entry)}
        onMouseMove=${() => setAt(place)}>
        <${Icon} name=${entry.icon} /><span>${visible(entry.name)}</span><em>${visible(entry.what)}</em></li>`,
    )}</ul></dialog>`;
}
