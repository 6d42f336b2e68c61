// Where one can go, and how things are.
import { html } from '../html.js';
import { post } from '../api.js';
import { leave } from '../people.js';
import { may, me } from '../session.js';
import { clients, gateway, heard, link, servers, stale, tap, waiting } from '../store.js';
import { href, route } from '../router.js';
import { Icon } from './icons.js';
import { attempt, Button, Word } from './ui.js';
import { clockTime, plural } from './format.js';

export const PLACES = [
  { path: 'servers', label: 'Servers', key: 's' },
  { path: 'tools', label: 'Tools', key: 't' },
  { path: 'traffic', label: 'Traffic', key: 'c' },
  { path: 'inbox', label: 'Inbox', key: 'i' },
  { path: 'insight', label: 'Insight', key: 'n' },
  { path: 'setup', label: 'Set-up', key: 'u' },
  { path: 'audit', label: 'Audit', key: 'a' },
];

export function Navigation() {
  const at = route.value.path[0] ?? 'servers';
  const failing = servers.value.filter((server) => ['failed', 'needs-auth', 'pending'].includes(server.state.word)).length;
  return html`<nav class="places" aria-label="Console">
    <a class="brand" href=${href('servers')}><img src="/console/icon.svg" alt="" width="26" height="26" /><span>Switchboard</span></a>
    ${PLACES.map(
      ({ path, label }) => html`
      <a key=${path} class="place" href=${href(path)} aria-current=${path === at ? 'page' : undefined} data-testid=${`place-${path}`}>
        <${Icon} name=${path} /><span>${label}</span>
        ${path === 'inbox' && waiting.value > 0 && html`<b class="badge hot" data-testid="waiting">${waiting.value}</b>`}
        ${path === 'servers' && failing > 0 && html`<b class="badge" title="need you">${failing}</b>`}
      </a>`,
    )}
    <div class="foot">
      <span>${plural(clients.value.length, 'client')}${stale.value ? ` at ${clockTime(heard.value)}` : ''}</span>
      <span title=${gateway.value.directory}>${gateway.value.address}</span>
      <span>v${gateway.value.version}</span>
    </div>
  </nav>`;
}

const LINKS = { live: 'live', connecting: 'connecting', lost: 'not live: reconnecting' };

export function Header({ onPalette, onHelp }) {
  return html`<header class="top">
    <button type="button" class="find" onClick=${onPalette} data-testid="open-palette"><${Icon} name="search" size=${16} />
      <span>Find anything</span><kbd>Ctrl K</kbd></button>
    <span class="grow"></span>
    <${Tap} />
    <${Word} word=${link.value} text=${LINKS[link.value]} />
    <button type="button" class="plain" title="Keys (?)" aria-label="Keys" onClick=${onHelp}><${Icon} name="keys" /></button>
    <button type="button" class="plain" title="Dark or light" aria-label="Dark or light" data-testid="theme" onClick=${otherTheme}><${Icon}
      name="theme" /></button>
    <button type="button" class="plain" title=${`Sign out ${me.value?.principal ?? ''} (${me.value?.role ?? ''})`} aria-label="Sign out"
      data-testid="sign-out" onClick=${leave}><${Icon} name="out" /></button>
  </header>`;
}

/** Whether messages are kept: a switch, since it costs memory and shows what is said. */
function Tap() {
  const state = tap.value;
  if (!state) return null;
  const set = () =>
    attempt(async () => {
      tap.value = await post('tap', { armed: !state.armed, clear: false });
    });
  const title = stale.value
    ? 'Whether messages are kept now is not known'
    : state.armed
    ? `Messages are kept (${state.by ?? 'asked for'}): ${state.calls} calls, ${Math.round(state.bytes / 1e6)} of ${Math.round(state.capacity / 1e6)} MB`
    : 'Messages are not kept: only times and outcomes of calls';
  const armed = state.armed && !stale.value;
  const words = stale.value && state.armed ? 'Messages were kept' : armed ? 'Keeping messages' : 'Keep messages';
  return html`<${Button} small kind=${armed ? 'armed' : ''} disabled=${!may('operator') || stale.value} title=${title} onClick=${set}
    data-testid="tap">
    <span class=${`lamp ${armed ? 'on' : ''}`}></span>${words}<//>`;
}

/** Said on every page while the gateway is not heard: what it shows may not be so any more. */
export const LostBar = () =>
  stale.value &&
  html`<p class="note lost" role="status" data-testid="lost"><strong>The gateway does not answer.</strong> What is shown is as it was at ${clockTime(heard.value)}; it is asked again until it answers. If it has ended: <code>switchboard up</code></p>`;

function otherTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme ? root.dataset.theme === 'dark' : matchMedia('(prefers-color-scheme: dark)').matches;
  root.dataset.theme = dark ? 'light' : 'dark';
  try {
    localStorage.setItem('switchboard.theme', root.dataset.theme);
  } catch {
    // Then it holds for this page alone.
  }
}
