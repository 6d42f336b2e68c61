// Nobody is signed in.
import { html, useState } from '../html.js';
import { ask, enter, enterWith } from '../api.js';
import { signIn } from '../people.js';
import { turnedAway } from '../session.js';
import { line } from '../parts/format.js';
import { attempt, Button, Fault, useRead } from '../parts/ui.js';

export function SignIn({ busy }) {
  const [typed, setTyped] = useState('');
  const [fault, setFault] = useState(null);
  const [going, setGoing] = useState(false);
  const ways = useRead((signal) => ask('GET', 'session/ways', { bearer: null, signal }), []);
  const provider = ways.value?.provider;
  const come = async (event) => {
    event.preventDefault();
    const text = typed.trim().replace(/^.*#/, '');
    if (!text) return;
    setGoing(true);
    setFault(null);
    try {
      await enter(text);
    } catch (refused) {
      // It may be a token instead of a code.
      await enterWith(text).catch(() => setFault(refused));
    }
    setGoing(false);
  };
  return html`<main class="signin" data-view="signin">
    <form onSubmit=${come} class="card">
      <img src="/console/icon.svg" alt="" width="44" height="44" />
      <h1>Switchboard</h1>
      ${
        busy
          ? html`<p role="status">Coming in…</p>`
          : html`
      ${turnedAway.value && html`<p class="note" role="status">${turnedAway.value}</p>`}
      ${provider && html`<${Button} kind="primary" onClick=${() => attempt(signIn, setFault)} data-testid="sign-in">Sign in at ${line(provider, 60)}<//>
        <p class="or"><span>or</span></p>`}
      <p>Open the address that the gateway prints. Its code is good once, for a minute; a new one is made by</p>
      <pre class="command"><code>switchboard console</code></pre>
      <label for="code">or paste the address, the code, or a token</label>
      <input id="code" type="password" autocomplete="off" spellcheck="false" value=${typed}
        onInput=${(event) => setTyped(event.target.value)} data-testid="code" />
      <${Fault} of=${fault} />
      <${Button} kind=${provider ? '' : 'primary'} type="submit" disabled=${going || !typed.trim()} data-testid="enter">Come in<//>`
      }
    </form></main>`;
}
