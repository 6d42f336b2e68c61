// A schema as fields. Form and JSON are two views of one value: what a field cannot show it
// shows as JSON, and nothing that was entered is dropped.
import { html, useRef, useState } from '../html.js';
import { exact, isNumber, isSame, kindOf, NotJson, parse, put, Raw, step, stringify } from '../json.js';
import { fits, named, shape } from '../schema.js';
import { Icon } from './icons.js';
import { line, visible } from './format.js';
import { Button, Chip, Segments } from './ui.js';

const DEEPEST = 8;

/** One field: `value` is undefined where it is not set, and `onChange(undefined)` unsets it. */
export function Field({ schema, root, path, label, value, onChange, required, faults, tried, titled, depth = 0 }) {
  const drawn = shape(schema, root);
  const { kind, nullable, schema: found } = drawn;
  const wrong = faults.get(path) ?? [];
  const id = `f${path.replace(/[^\w]/g, '-')}`;
  // A server says what a field is called; what is sent is the key, which stands beside it.
  const own = titled && typeof found.title === 'string' && found.title.trim() !== '' && found.title !== label;
  const title = own ? found.title : (label ?? found.title ?? '');
  // Nobody has done anything wrong where nothing was typed yet.
  const later = value === undefined && !tried;
  const bounds = limitsOf(found);
  const isNull = value === null && kind !== 'null' && !drawn.values?.includes(null);
  return html`<div class=${`field ${value === undefined ? 'unset' : ''}`} data-path=${path} data-kind=${kind}>
    ${
      title !== '' &&
      html`<div class="name"><label for=${id}>${visible(title)}</label>${required && html`<span class="star"
        title="must be there">*</span>`}
      ${own && html`<code class="quiet small">${visible(label)}</code>`}
      <span class="quiet small">${found.format ?? (kind === 'enum' || kind === 'choice' ? '' : kind)}</span>${bounds && html`<span
        class="quiet small">${visible(bounds)}</span>`}
      ${found['x-mcp-header'] && html`<${Chip} title="repeated in a header">header<//>`}
      ${found.default !== undefined && value === undefined && html`<button type="button" class="more chip" title="use it"
        onClick=${() => onChange(found.default)}>default ${line(stringify(found.default, ''), 40)}</button>`}
      <span class="grow"></span>
      ${nullable && kind !== 'enum' && html`<label class="row small quiet"><input type="checkbox" checked=${value === null}
        onChange=${(event) => onChange(event.target.checked ? null : undefined)} /> null</label>`}
      ${value !== undefined && !required && path !== '' && html`<button type="button" class="plain" title="not set"
        aria-label=${`unset ${title}`} onClick=${() => onChange(undefined)}><${Icon} name="close" size=${14} /></button>`}</div>`
    }
    ${found.description && depth > 0 && html`<p class="about">${visible(found.description)}</p>`}
    ${isNull ? html`<p class="quiet small">null</p>` : html`<${Control}
      drawn=${drawn} ...${{ schema, root, path, value, onChange, required, faults, tried, depth, id, title }} invalid=${wrong.length > 0 && !later} />`}
    ${wrong.map((error, at) => html`<p class=${later ? 'wrong later' : 'wrong'} role=${later ? undefined : 'alert'} key=${at}
      data-testid="wrong">${visible(error)}</p>`)}
  </div>`;
}

function limitsOf(schema) {
  const parts = [];
  if (schema.minimum !== undefined) parts.push(`≥ ${schema.minimum}`);
  if (schema.exclusiveMinimum !== undefined) parts.push(`> ${schema.exclusiveMinimum}`);
  if (schema.maximum !== undefined) parts.push(`≤ ${schema.maximum}`);
  if (schema.exclusiveMaximum !== undefined) parts.push(`< ${schema.exclusiveMaximum}`);
  if (schema.minLength) parts.push(`at least ${schema.minLength} characters`);
  if (schema.maxLength !== undefined) parts.push(`at most ${schema.maxLength} characters`);
  if (schema.minItems) parts.push(`at least ${schema.minItems}`);
  if (schema.maxItems !== undefined) parts.push(`at most ${schema.maxItems}`);
  if (schema.pattern) parts.push(`like ${line(schema.pattern, 40)}`);
  return parts.join(', ');
}

/** The control that fits both the schema and the value; JSON where none does. */
function Control(props) {
  const { drawn, value, depth } = props;
  const { kind } = drawn;
  const is = value === undefined ? undefined : kindOf(value);
  const plain =
    is === undefined ||
    kind === 'enum' ||
    kind === 'choice' ||
    kind === is ||
    ((kind === 'integer' || kind === 'number') && (is === 'number' || is === 'raw'));
  if (!plain || kind === 'json' || (depth > DEEPEST && (kind === 'object' || kind === 'array')))
    return html`<${JsonText} ...${props} />`;
  switch (kind) {
    case 'object':
      return html`<${Members} ...${props} />`;
    case 'array':
      return html`<${Items} ...${props} />`;
    case 'choice':
      return html`<${Choice} ...${props} />`;
    case 'enum':
      return html`<${Listed} ...${props} />`;
    case 'boolean':
      return html`<${Segments} label=${props.title} value=${value === undefined ? '' : String(value)}
        onChange=${(word) => props.onChange(word === '' ? undefined : word === 'true')}
      options=${[...(props.required && value !== undefined ? [] : [['', 'not set']]), ['true', 'true'], ['false', 'false']]} />`;
    case 'null':
      return html`<${Segments} label=${props.title} value=${value === undefined ? '' : 'null'}
        onChange=${(word) => props.onChange(word === '' ? undefined : null)} options=${[
        ['', 'not set'],
        ['null', 'null'],
      ]} />`;
    case 'string':
      return html`<${Words} ...${props} />`;
    default:
      return html`<${Numeric} ...${props} />`;
  }
}

function Words({ drawn, id, value, onChange, invalid, title }) {
  const { format, maxLength, contentEncoding } = drawn.schema;
  const common = {
    id,
    value: value ?? '',
    placeholder: value === undefined ? 'not set' : 'empty',
    'aria-invalid': invalid,
    'aria-label': title || undefined,
    spellcheck: false,
    onInput: (event) => onChange(event.target.value),
  };
  // A line end would be lost in a line: whatever has one, or may have, gets a box.
  const one =
    (format && format !== 'markdown' && format !== 'textarea') || (maxLength !== undefined && maxLength <= 120);
  if (one && !contentEncoding && !/[\r\n]/.test(value ?? ''))
    return html`<input type=${format === 'password' ? 'password' : 'text'} autocomplete="off" ...${common} />`;
  return html`<textarea rows=${Math.min(12, Math.max(1, (value ?? '').split('\n').length))} ...${common}></textarea>`;
}

function Numeric({ drawn, id, value, onChange, invalid, title }) {
  const text = value === undefined ? '' : value instanceof Raw ? value.text : String(value);
  const bad = text !== '' && !isNumber(text);
  const on = (event) => {
    const typed = event.target.value;
    onChange(typed === '' ? undefined : isNumber(typed) ? exact(typed) : new Raw(typed));
  };
  return html`<input id=${id} inputmode=${drawn.kind === 'integer' ? 'numeric' : 'decimal'} autocomplete="off"
    aria-label=${title || undefined} value=${text} placeholder="not set" aria-invalid=${invalid || bad} onInput=${on} />
    ${bad && html`<p class="wrong" role="alert">not a number yet</p>`}`;
}

function Listed({ drawn, id, value, onChange, required, invalid, title }) {
  const at = value === undefined ? -1 : drawn.values.findIndex((one) => isSame(one, value));
  const other = value !== undefined && at < 0;
  const on = (event) => {
    const chosen = Number(event.target.value);
    if (chosen !== -2) onChange(chosen < 0 ? undefined : drawn.values[chosen]);
  };
  const text = (one, place) => {
    const label = drawn.labels?.[place];
    const own = typeof one === 'string' ? one : stringify(one, '');
    return visible(label ? `${label} (${own})` : own === '' ? '(empty)' : own);
  };
  return html`<select id=${id} aria-label=${title || undefined} aria-invalid=${invalid || other} value=${other ? -2 : at} onChange=${on}>
    ${(!required || value === undefined) && html`<option value=${-1}>not set</option>`}
    ${other && html`<option value=${-2}>${line(stringify(value, ''), 60)} (not in the list)</option>`}
    ${drawn.values.map((one, place) => html`<option key=${place} value=${place}>${text(one, place)}</option>`)}</select>`;
}

function Choice({ drawn, root, path, value, onChange, required, faults, tried, depth, title }) {
  const best = () =>
    drawn.options.map((option, at) => [fits(value, option, root), at]).sort((one, other) => other[0] - one[0])[0];
  const [picked, setPicked] = useState(() => (value === undefined ? 0 : best()[1]));
  const before = useRef(new Map());
  const at = Math.min(picked, drawn.options.length - 1);
  const pick = (next) => {
    // Whoever looks at another way and comes back finds what was there.
    before.current.set(at, value);
    setPicked(next);
    onChange(before.current.get(next));
  };
  return html`<div class="group">
    <select aria-label=${`${title || 'value'}: which form`} value=${at}
      onChange=${(event) => pick(Number(event.target.value))}>${drawn.options.map((option, place) => html`<option key=${place}
      value=${place}>${visible(named(option, root, place))}</option>`)}</select>
    <${Field} key=${at} schema=${drawn.options[at]} label="" ...${{ root, path, value, onChange, required, faults, tried }} depth=${depth + 1} />
      </div>`;
}

function Members({ drawn, root, path, value, onChange, required, faults, tried, depth, title }) {
  const { schema } = drawn;
  const [name, setName] = useState('');
  if (value === undefined && !required && path !== '')
    return html`<div><${Button} small icon="plus" onClick=${() => onChange({})}>${`Add ${title || 'it'}`}<//></div>`;
  const now = value ?? {};
  const properties = schema.properties ?? {};
  const set = (key, next) => {
    const made = {};
    for (const [other, kept] of Object.entries(now))
      if (other !== key) put(made, other, kept);
      else if (next !== undefined) put(made, key, next);
    if (!Object.hasOwn(now, key) && next !== undefined) put(made, key, next);
    onChange(made);
  };
  const patterns = Object.entries(schema.patternProperties ?? {});
  const extra = (key) =>
    patterns.find(([pattern]) => matches(pattern, key))?.[1] ??
    (typeof schema.additionalProperties === 'object' ? schema.additionalProperties : {});
  const others = Object.keys(now).filter((key) => !Object.hasOwn(properties, key));
  const open = schema.additionalProperties !== false || patterns.length > 0;
  return html`<div class=${path === '' ? 'stack' : 'group'}>
    ${Object.entries(properties).map(([key, property]) => html`<${Field} key=${key} schema=${property} root=${root} path=${path + step(key)}
      label=${key} value=${Object.hasOwn(now, key) ? now[key] : undefined} onChange=${(next) => set(key, next)}
      required=${schema.required?.includes(key)} faults=${faults} tried=${tried} titled=${true} depth=${depth + 1} />`)}
    ${others.map((key) => html`<${Field} key=${`+${key}`} schema=${extra(key)} root=${root} path=${path + step(key)} label=${key}
      value=${now[key]} onChange=${(next) => set(key, next)} faults=${faults} tried=${tried} depth=${depth + 1} />`)}
    ${
      open &&
      (Object.keys(properties).length === 0 || schema.additionalProperties || patterns.length > 0) &&
      html`<form class="row" onSubmit=${(event) => {
        event.preventDefault();
        if (name && !Object.hasOwn(now, name)) {
          set(name, '');
          setName('');
        }
      }}>
      <input class="grow" aria-label=${`another key of ${title || 'this'}`} placeholder="another key" value=${name}
        onInput=${(event) => setName(event.target.value)} /><${Button} small icon="plus" type="submit"
        disabled=${!name || Object.hasOwn(now, name)}>Add<//></form>`
    }
  </div>`;
}

function matches(pattern, key) {
  try {
    return new RegExp(pattern, 'u').test(key);
  } catch {
    return false;
  }
}

function Items({ drawn, root, path, value, onChange, faults, tried, depth, title }) {
  const { schema } = drawn;
  const list = value ?? [];
  const each = (at) =>
    schema.prefixItems?.[at] ?? (Array.isArray(schema.items) ? schema.items[at] : schema.items) ?? {};
  const swap = (at, other) => {
    const made = [...list];
    [made[at], made[other]] = [made[other], made[at]];
    onChange(made);
  };
  const begin = () => {
    const { kind, values } = shape(each(list.length), root);
    return kind === 'enum' ? values[0] : ({ object: {}, array: [], string: '', boolean: false }[kind] ?? null);
  };
  return html`<div class="group">${list.map(
    (one, at) => html`<div class="item" key=${at}>
      <${Field} schema=${each(at)} root=${root} path=${path + step(at)} label=${`${at + 1}`} required=${true} value=${one}
        onChange=${(next) => onChange(list.with(at, next === undefined ? null : next))} faults=${faults} tried=${tried} depth=${depth + 1} />
      <span class="moves"><button type="button" class="plain" aria-label=${`remove ${at + 1} of ${title}`}
        onClick=${() => onChange(list.toSpliced(at, 1))}><${Icon} name="close" size=${14} /></button>
      ${at > 0 && html`<button type="button" class="plain" aria-label=${`move ${at + 1} of ${title} up`} onClick=${() => swap(at, at - 1)}>
        <${Icon} name="up" size=${14} /></button>`}</span></div>`,
  )}
    <div class="row"><${Button} small icon="plus" onClick=${() => onChange([...list, begin()])}>${`Add to ${title || 'the list'}`}
      <//>${value === undefined && html`<span class="quiet small">not set</span>`}${value?.length === 0 && html`<span
      class="quiet small">an empty list</span>`}</div></div>`;
}

/** Whatever is not drawn otherwise: text of JSON, kept as it is typed. */
function JsonText({ id, path, value, onChange, invalid, faults, title }) {
  const text = value === undefined ? '' : stringify(value);
  const [typed, setTyped] = useState(null);
  const shown = typed !== null && meant(typed) === text ? typed : text;
  const on = (event) => {
    setTyped(event.target.value);
    onChange(valueOf(event.target.value));
  };
  const fault = value instanceof Raw && !isNumber(value.text) ? faultOf(value.text) : null;
  const below = [...faults].filter(([place]) => place.startsWith(`${path}/`));
  return html`<textarea id=${id} rows=${Math.min(14, Math.max(2, shown.split('\n').length))} spellcheck="false"
    aria-label=${title || undefined} aria-invalid=${invalid || fault !== null} placeholder="JSON, not set" value=${shown} onInput=${on}>
    </textarea>
    ${fault && html`<p class="wrong" role="alert">${fault}</p>`}
    ${below.map(([place, errors]) => html`<p class="wrong" key=${place}><code>${visible(place)}</code> ${visible(errors.join('; '))}
      </p>`)}`;
}

function valueOf(text) {
  if (text.trim() === '') return undefined;
  try {
    return parse(text);
  } catch {
    return new Raw(text);
  }
}

const meant = (text) => {
  const value = valueOf(text);
  return value === undefined ? '' : stringify(value);
};

function faultOf(text) {
  try {
    parse(text);
    return null;
  } catch (fault) {
    return fault instanceof NotJson ? fault.message : 'not JSON';
  }
}
