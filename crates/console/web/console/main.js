import { html, render, effect } from './html.js';
import { App } from './app.js';
import { waiting } from './store.js';

effect(() => {
  document.title = waiting.value ? `(${waiting.value}) Switchboard` : 'Switchboard';
});
render(html`<${App} />`, document.getElementById('app'));
