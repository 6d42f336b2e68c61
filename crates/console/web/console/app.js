// The frame around every view: where one can go, how the gateway is, who one is.
import { html, signal, useEffect } from './html.js';
import { enter } from './api.js';
import { cameBack, finish, leave } from './people.js';
import { codeInAddress, me, token, turnedAway } from './session.js';
import { begin, end, fault, gateway, stale } from './store.js';
import { globalKeys } from './keys.js';
import { go, route } from './router.js';
import { line } from './parts/format.js';
import { Button, Fault, Skeleton, Toasts } from './parts/ui.js';
import { BreakBar } from './parts/breaks.js';
import { Header, LostBar, Navigation, PLACES } from './parts/frame.js';
import { Help } from './parts/help.js';
import { Palette } from './parts/palette.js';
import { SignIn } from './views/signin.js';
import { Traffic } from './views/traffic.js';
import { CallPage } from './views/call.js';
import { Tools } from './views/tools.js';
import { Servers } from './views/servers.js';
import { ServerPage } from './views/server.js';
import { ToolPage } from './views/tool.js';
import { Inbox } from './views/inbox.js';
import { Insight } from './views/insight.js';
import { Setup } from './views/setup.js';
import { Audit } from './views/audit.js';

const palette = signal(false);
const help = signal(false);
const entering = signal(false);

async function come() {
  const signed = cameBack();
  const code = signed ? null : codeInAddress();
  if (!signed && !code) return;
  entering.value = true;
  try {
    await (signed ? finish(signed) : enter(code));
  } catch (refused) {
    turnedAway.value = refused.hint ? `${refused.message}: ${refused.hint}` : refused.message;
  }
  entering.value = false;
}
come();
addEventListener('hashchange', come);

function View() {
  const { path, query } = route.value;
  const [view, ...rest] = path;
  switch (view) {
    case 'traffic':
      return rest[0]
        ? html`<${CallPage} key=${rest[0]} id=${rest[0]} query=${query} />`
        : html`<${Traffic} query=${query} />`;
    case 'tools':
      return html`<${Tools} query=${query} />`;
    case 'servers':
      if (rest[1] === 'tools' && rest[2])
        return html`<${ToolPage} key=${[...rest, query.arguments].join('/')} server=${rest[0]} tool=${rest[2]} query=${query} />`;
      if (rest[0])
        return html`<${ServerPage} key=${rest[0]} name=${rest[0]} tab=${rest[1] ?? 'overview'} item=${rest[2]} />`;
      return html`<${Servers} />`;
    case 'inbox':
      return html`<${Inbox} id=${rest[0]} query=${query} />`;
    case 'insight':
      return html`<${Insight} tab=${rest[0] ?? 'times'} />`;
    case 'setup':
      return html`<${Setup} tab=${rest[0] ?? 'add'} />`;
    case 'audit':
      return html`<${Audit} query=${query} />`;
    default:
      return html`<${Servers} />`;
  }
}

/** Somebody who came in, and may not see this: who that is, and the way out. */
const NotEnough = () =>
  me.value &&
  html`<p class="row" data-testid="not-enough"><span>You are <strong>${line(me.value.principal, 80)}</strong>${me.value.role === 'own' ? ', without a role here' : `, with the role ${me.value.role}`}.</span>
    <${Button} small onClick=${leave} data-testid="sign-out">Sign out<//></p>`;

export function App() {
  const bearer = token.value;
  useEffect(() => {
    if (bearer) begin();
    return end;
  }, [bearer]);
  useEffect(
    () =>
      globalKeys({
        palette: () => {
          palette.value = !palette.value;
        },
        help: () => {
          help.value = true;
        },
        go: (key) => {
          const place = PLACES.find((one) => one.key === key);
          if (place) go(place.path);
          return Boolean(place);
        },
      }),
    [],
  );
  if (!bearer) return html`<${SignIn} busy=${entering.value} />`;
  if (!gateway.value) {
    return html`<main class="alone stack">${fault.value ? html`<${Fault} of=${fault.value} again=${begin} /><${NotEnough} />` : html`<${Skeleton}
      rows=${6} />`}</main>`;
  }
  const view = route.value.path.join('/');
  return html`
    <a class="skip" href="#main" onClick=${(event) => {
      event.preventDefault();
      document.getElementById('main').focus();
    }}>Skip to the content</a>
    <div class=${`frame ${stale.value ? 'stale' : ''}`}>
      <${Navigation} />
      <${Header} onPalette=${() => {
        palette.value = true;
      }} onHelp=${() => {
        help.value = true;
      }} />
      <main id="main" tabindex="-1" data-view=${view || 'servers'}><${LostBar} /><${BreakBar} /><${View} /></main>
    </div>
    ${
      palette.value &&
      html`<${Palette} onClose=${() => {
        palette.value = false;
      }} />`
    }
    ${
      help.value &&
      html`<${Help} onClose=${() => {
        help.value = false;
      }} />`
    }
    <${Toasts} />`;
}
