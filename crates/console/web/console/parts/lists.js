// What a server lists: tools, resources and their templates, prompts.
import { html, useState } from '../html.js';
import { get, part, post } from '../api.js';
import { href } from '../router.js';
import { listed } from '../store.js';
import { Completion, Watch } from './extras.js';
import { line, visible } from './format.js';
import { Form, useValue } from './form.js';
import { Result } from './result.js';
import { Button, Chip, Empty, Fault, Skeleton, useRead } from './ui.js';

const NAMES = { tools: 'tools', resources: 'resources', prompts: 'prompts' };

export function Lists({ name, server, list, item }) {
  const by = [name, list, listed.value[server.name]];
  const read = useRead((signal) => get(`servers/${part(name)}/${list}`, null, signal), by);
  const templates = useRead(
    async (signal) => (list === 'resources' ? get(`servers/${part(name)}/templates`, null, signal) : null),
    by,
  );
  if (!NAMES[list]) return html`<${Empty} title="There is nothing here">This server has no part of that name.<//>`;
  if (read.fault) return html`<${Fault} of=${read.fault} again=${read.again} />`;
  if (!read.value) return html`<${Skeleton} rows=${5} />`;
  /** @type {any[]} */
  const items = read.value.items;
  if (list === 'tools') return html`<${Tools} name=${name} items=${items} cut=${read.value.cut} />`;
  /** @type {any[]} */
  const patterns = templates.value?.items ?? [];
  if (items.length === 0 && patterns.length === 0 && !item)
    return html`<${Empty} title=${`No ${list}`}>This server lists none.<//>`;
  const key = list === 'resources' ? 'uri' : 'name';
  const chosen =
    item &&
    (items.find((one) => one[key] === item) ??
      patterns.find((one) => one.uriTemplate === item) ??
      (list === 'resources' ? { uri: item, name: item } : null));
  return html`<div class="halves"><div class="table"><table><thead><tr><th>${list === 'resources' ? 'Resource' : 'Prompt'}</th></tr></thead>
    <tbody>
      ${[...items, ...patterns].map((one) => {
        const id = one[key] ?? one.uriTemplate;
        return html`<tr key=${id}><td><a href=${href(['servers', name, list, String(id)])}
          aria-current=${id === item ? 'true' : undefined}>${line(one.title ?? one.name ?? id, 100)}
          </a>${one.mimeType && html` <${Chip}>${line(one.mimeType, 40)}<//>`}${one.uriTemplate && html` <${Chip}>template<//>`}
        <div class="small quiet">${list === 'resources' ? html`<code>${line(id, 160)}</code>` : null} ${line(one.description ?? '', 200)}
          </div></td></tr>`;
      })}</tbody></table></div>
    <section class="card stack">${chosen ? html`<${One} key=${item} name=${name} list=${list} one=${chosen} />` : html`<p
      class="quiet">Choose one to ${list === 'resources' ? 'read' : 'get'} it.</p>`}</section></div>`;
}

const Tools = ({ name, items, cut }) =>
  items.length === 0
    ? html`<${Empty} title="No tools">This server lists none that may be seen.<//>`
    : html`
  <div class="table"><table><thead><tr><th>Tool</th><th>What it is for</th></tr></thead><tbody>${items.map(
    (tool) => html`<tr key=${tool.name} data-testid="listed-tool">
    <td class="name"><a href=${href(['servers', name, 'tools', String(tool.name)])}>${line(tool.name, 100)}</a></td>
      <td>${line(tool.description ?? tool.title ?? '', 300)}</td></tr>`,
  )}</tbody></table></div>${cut && html`<p class="note">There are more than are shown.</p>`}`;

/** Arguments of a prompt, or variables of a template, as a schema. */
function schemaOf(one, list) {
  const names =
    list === 'prompts'
      ? (one.arguments ?? [])
      : [...String(one.uriTemplate ?? '').matchAll(/\{[+#./;?&]?([^}]+)\}/g)]
          .flatMap((found) => found[1].split(','))
          .map((name) => ({ name: name.replace(/[*:].*$/, ''), required: true }));
  return {
    type: 'object',
    properties: Object.fromEntries(
      names.map((argument) => [
        argument.name,
        { type: 'string', description: argument.description, title: argument.title },
      ]),
    ),
    required: names.filter((argument) => argument.required).map((argument) => argument.name),
  };
}

/** A template with its variables filled in: the simple kinds of RFC 6570. */
function filled(template, values) {
  return template.replace(/\{([+#./;?&]?)([^}]+)\}/g, (_, kind, names) => {
    const write = (text) => (kind === '+' || kind === '#' ? encodeURI(text) : encodeURIComponent(text));
    const list = names
      .split(',')
      .map((name) => name.replace(/[*:].*$/, ''))
      .filter((name) => values[name]);
    if (list.length === 0) return '';
    const named = kind === '?' || kind === '&' || kind === ';';
    const joint = kind === '?' || kind === '&' ? '&' : kind === '/' || kind === '.' || kind === ';' ? kind : ',';
    return (
      (kind === '+' ? '' : kind) +
      list.map((name) => (named ? `${name}=${write(values[name])}` : write(values[name]))).join(joint)
    );
  });
}

function One({ name, list, one }) {
  const schema = schemaOf(one, list);
  const asks = Object.keys(schema.properties).length > 0;
  const edited = useValue({});
  const [made, setMade] = useState(null);
  const [fault, setFault] = useState(null);
  const [busy, setBusy] = useState(false);
  const run = async () => {
    setBusy(true);
    setFault(null);
    const uri = one.uri ?? filled(String(one.uriTemplate), edited.value ?? {});
    const body =
      list === 'prompts'
        ? { server: name, method: 'prompts/get', name: one.name, arguments: edited.value }
        : { server: name, method: 'resources/read', name: uri };
    try {
      setMade(await post('calls', body));
    } catch (refused) {
      setFault(refused);
    }
    setBusy(false);
  };
  return html`<h2>${line(one.title ?? one.name ?? one.uri, 120)}</h2>${one.description && html`<p class="quiet">${visible(one.description)}
    </p>`}
    ${
      asks &&
      html`<${Form} schema=${schema} edited=${edited} onRun=${run} />
      <${Completion} name=${name} edited=${edited}
        reference=${list === 'prompts' ? { type: 'ref/prompt', name: one.name } : { type: 'ref/resource', uri: one.uriTemplate }} />`
    }
    ${list === 'resources' && one.uri && html`<${Watch} name=${name} uri=${one.uri} again=${made ? run : null} />`}
    <div class="row"><${Button} kind="primary" disabled=${busy || edited.bad !== null} onClick=${run}
      data-testid="run">${busy ? 'Running…' : list === 'prompts' ? 'Get it' : 'Read it'}<//>${made && html`<a
      href=${href(['traffic', String(made.id)])}>Both sides of it</a>`}</div>
    <${Fault} of=${fault} />${made && html`<${Result} made=${made} />`}`;
}
