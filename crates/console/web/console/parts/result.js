// What a call brought: text, JSON, images, sound, links, and what is wrong with it.
import { html, useState } from '../html.js';
import { parse } from '../json.js';
import { href } from '../router.js';
import { bytes, isAligned, visible } from './format.js';
import { Tree } from './tree.js';
import { Chip, Copy, Fault, Link, Segments } from './ui.js';

const IMAGES = ['image/png', 'image/jpeg', 'image/gif', 'image/webp'];
const SOUNDS = [
  'audio/wav',
  'audio/mpeg',
  'audio/mp3',
  'audio/ogg',
  'audio/webm',
  'audio/flac',
  'audio/aac',
  'audio/x-wav',
];
const BASE64 = /^[A-Za-z0-9+/=\s]*$/;
const SHOWN = 200_000;

function asJson(text) {
  if (!/^\s*[[{]/.test(text) || text.length > 2_000_000) return undefined;
  try {
    return parse(text);
  } catch {
    return undefined;
  }
}

function Said({ text }) {
  const value = asJson(text);
  const [form, setForm] = useState(value === undefined ? 'text' : 'tree');
  const [whole, setWhole] = useState(false);
  return html`<div class="stack">
    <div class="row">${
      value !== undefined &&
      html`<${Segments} label="shown as" value=${form} onChange=${setForm} options=${[
        ['tree', 'JSON'],
        ['text', 'Text'],
      ]} />`
    }<${Copy} text=${text} /></div>
    ${form === 'tree' && value !== undefined ? html`<${Tree} value=${value} />` : html`<pre class=${`block said ${isAligned(text.slice(0, SHOWN)) ? 'aligned' : ''}`}
      tabindex="0">${visible(whole ? text : text.slice(0, SHOWN))}${!whole && text.length > SHOWN ? html`<button type="button" class="more"
      onClick=${() => setWhole(true)}>… ${bytes(text.length - SHOWN)} more</button>` : null}</pre>`}
  </div>`;
}

function Block({ block, server }) {
  const { type } = block ?? {};
  if (type === 'text') return html`<${Said} text=${String(block.text ?? '')} />`;
  if (type === 'image' && IMAGES.includes(block.mimeType) && BASE64.test(block.data)) {
    return html`<figure><img src=${`data:${block.mimeType};base64,${block.data}`} alt=${`an image of the server's, ${block.mimeType}`} />
      </figure>`;
  }
  if (type === 'audio' && SOUNDS.includes(block.mimeType) && BASE64.test(block.data)) {
    return html`<audio controls src=${`data:${block.mimeType};base64,${block.data}`}></audio>`;
  }
  if (type === 'resource_link') {
    return html`<div class="note"><strong>${visible(block.title ?? block.name ?? 'resource')}
      </strong> <${Chip}>${visible(block.mimeType ?? 'resource')}<//>
      <p>${visible(block.description ?? '')}</p>${server ? html`<a
        href=${href(['servers', server, 'resources', block.uri])}>${visible(block.uri)}</a>` : html`<${Link} to=${block.uri} />`}</div>`;
  }
  if (type === 'resource') return html`<${Contents} contents=${[block.resource]} />`;
  return html`<${Tree} value=${block} />`;
}

/** Contents of a resource. */
export const Contents = ({ contents }) =>
  html`<div class="content">${(contents ?? []).map(
    (one, at) => html`<div key=${at} class="stack">
  <p class="small quiet">${visible(one?.uri ?? '')} ${one?.mimeType && html`<${Chip}>${visible(one.mimeType)}<//>`}</p>
  ${typeof one?.text === 'string' ? html`<${Said} text=${one.text} />` : html`<${Block}
    block=${{ type: String(one?.mimeType).startsWith('audio/') ? 'audio' : 'image', mimeType: one?.mimeType, data: one?.blob ?? '' }} />`}
    </div>`,
  )}</div>`;

/** The answer to a call: `{result, error, faults, call}`. */
export function Result({ made }) {
  const { result, error, faults } = made;
  if (error)
    return html`<${Fault}
      of=${{ message: error.message ?? 'the call failed', hint: error.code ? `code ${error.code}` : null }} />${error.data !== undefined && html`<${Tree}
      value=${error.data} />`}`;
  if (!result) return null;
  const server = made.call?.server;
  return html`<div class="content" data-testid="result">
    ${result.isError && html`<p class="note warn" role="alert">The tool says that it failed.</p>`}
    ${faults?.length > 0 && html`<div class="note warn">
      <strong>This does not fit the tool's own schema for results.</strong>${faults.map((one) => html`<p key=${one}>${visible(one)}</p>`)}
      </div>`}
    ${Array.isArray(result.content) && result.content.map((block, at) => html`<${Block} key=${at} block=${block} server=${server} />`)}
    ${Array.isArray(result.contents) && html`<${Contents} contents=${result.contents} />`}
    ${Array.isArray(result.messages) && result.messages.map((one, at) => html`<div key=${at} class="stack"><${Chip}>${visible(one.role)}<//>
      <${Block} block=${one.content} server=${server} /></div>`)}
    ${result.structuredContent !== undefined && html`<div><h3>Structured content</h3><${Tree} value=${result.structuredContent} /></div>`}
    ${!result.content && !result.contents && !result.messages && html`<${Tree} value=${result} />`}
  </div>`;
}
