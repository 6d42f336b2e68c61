import { html } from '../html.js';
import { viewKeys } from '../keys.js';
import { PLACES } from './frame.js';
import { Dialog } from './ui.js';

const Row = ([key, label]) => html`<tr key=${key}><td><kbd>${key}</kbd></td><td>${label}</td></tr>`;

/** All keys: those of the page, and those of the view that is shown. */
export const Help = ({ onClose }) => html`<${Dialog} title="Keys" onClose=${onClose}>
  <div class="columns">
    <table class="keys"><caption>Everywhere</caption><tbody>
      ${[['Ctrl K', 'find anything'], ['?', 'this list'], ...PLACES.map(({ key, label }) => [`g ${key}`, `go to ${label}`])].map(Row)}
    </tbody></table>
    ${viewKeys.value.length > 0 && html`<table class="keys"><caption>In this view</caption><tbody>${viewKeys.value.map(Row)}</tbody>
      </table>`}
  </div><//>`;
