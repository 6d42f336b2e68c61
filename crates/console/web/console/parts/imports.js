// What other clients on this machine have, to be added here: read by the gateway, which
// tells nobody their secrets.
import { html, useState } from '../html.js';
import { get } from '../api.js';
import { settingsRead } from '../store.js';
import { line, plural, visible } from './format.js';
import { Proposed } from './add.js';
import { Chip, Empty, Fault, Skeleton, useRead } from './ui.js';

export function Imports() {
  const read = useRead((signal) => get('imports', null, signal), [settingsRead.value]);
  const [chosen, setChosen] = useState(null);
  if (!read.value) return read.fault ? html`<${Fault} of=${read.fault} again=${read.again} />` : html`<${Skeleton} />`;
  const { servers, faults } = read.value;
  const id = (one) => `${one.from.client} ${one.from.file} ${one.from.name}`;
  const found = servers.find((one) => id(one) === chosen);
  const clients = [...new Set(servers.map((one) => one.from.client))];
  return html`${faults.map((fault, at) => html`<${Fault} key=${at} of=${fault} />`)}
    ${
      servers.length === 0
        ? html`<${Empty} title="No other client has servers">The files of Claude Desktop, Cursor, VS Code and twenty others were looked at. <code>switchboard import</code> does the same in a terminal.<//>`
        : html`<p class="quiet">${plural(servers.length, 'server')} of ${plural(clients.length, 'client')} on this machine. Choose one to see what it would do here.</p>
      <div class="halves"><div class="table"><table><thead><tr><th>Server</th><th>Client</th></tr></thead><tbody>
        ${servers.map(
          (one) => html`<tr key=${id(one)} data-testid="importable"><td><button type="button" class="more"
          aria-pressed=${id(one) === chosen} onClick=${() => setChosen(id(one))}>${line(one.name, 60)}</button>
          ${one.same && html`<${Chip}>is here<//>`}${one.project && html`<${Chip}>of a project<//>`}${one.leftOut && html`<${Chip}
            kind="warn">${line(one.leftOut, 80)}<//>`}</td>
          <td><${Chip}>${one.from.client}<//> <code class="small">${line(one.from.file, 80)}</code></td></tr>`,
        )}</tbody></table></div>
        <div class="stack">${
          found
            ? found.leftOut
              ? html`<p class="note">${visible(found.leftOut)}</p>`
              : html`<${Proposed} key=${chosen} proposed=${found} from=${found.from} folder=${found.project} />`
            : html`<p class="card quiet">What it would do is explained here, line by line.</p>`
        }</div></div>`
    }`;
}
