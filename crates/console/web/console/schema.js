// A JSON schema as something that can be drawn. Whatever cannot be is drawn as JSON, so that
// every value can be entered all the same.
import { isSame, kindOf, put, Raw, steps } from './json.js';

const DEEPEST = 40;
const PLAIN = ['string', 'integer', 'number', 'boolean', 'null', 'object', 'array'];

/** Follows references inside the schema; `null` where one leads nowhere or around in a circle. */
export function resolve(schema, root) {
  let at = schema;
  for (let turn = 0; turn < DEEPEST; turn += 1) {
    if (at === true || at === undefined) return {};
    if (at === false || typeof at !== 'object' || at === null) return null;
    if (typeof at.$ref !== 'string') return at;
    const target = find(at.$ref, root);
    if (target === undefined) return null;
    const { $ref, ...beside } = at;
    at =
      typeof target === 'object' && target !== null && Object.keys(beside).length ? { ...target, ...beside } : target;
  }
  return null;
}

function find(reference, root) {
  if (reference === '#') return root;
  if (!reference.startsWith('#')) return undefined;
  if (!reference.startsWith('#/')) return anchored(root, reference.slice(1));
  let at = root;
  for (const key of steps(decodeURIComponent(reference.slice(1)))) {
    if (typeof at !== 'object' || at === null || !Object.hasOwn(at, key)) return undefined;
    at = at[key];
  }
  return at;
}

const anchored = (root, name) =>
  Object.values(root?.$defs ?? root?.definitions ?? {}).find((one) => one?.$anchor === name);

/** Joins `allOf` where its parts do not contradict each other; `null` where that is not plain. */
function joined(schema, root) {
  const { allOf, ...made } = schema;
  for (const one of allOf) {
    const piece = whole(resolve(one, root), root);
    if (piece === null || piece.anyOf || piece.oneOf || piece.if || piece.not) return null;
    for (const [key, value] of Object.entries(piece)) {
      if (key === 'properties') {
        const both = { ...(made.properties ?? {}) };
        for (const [name, property] of Object.entries(value)) {
          if (Object.hasOwn(both, name) && !isSame(both[name], property))
            put(both, name, { allOf: [both[name], property] });
          else put(both, name, property);
        }
        made.properties = both;
      } else if (key === 'required') made.required = [...new Set([...(made.required ?? []), ...value])];
      else if (!Object.hasOwn(made, key)) put(made, key, value);
      else if (!isSame(made[key], value) && !['title', 'description', '$comment', 'examples', 'default'].includes(key))
        return null;
    }
  }
  return made;
}

function whole(schema, root) {
  return schema && Array.isArray(schema.allOf) ? joined(schema, root) : schema;
}

const isNull = (schema, root) => {
  const found = resolve(schema, root);
  return found !== null && (found.type === 'null' || (found.const === null && Object.hasOwn(found, 'const')));
};

/** How a schema is drawn: `{kind, schema, nullable, values, options, fields, …}`. */
export function shape(schema, root) {
  const found = whole(resolve(schema, root), root);
  if (found === null)
    return { kind: 'json', schema: typeof schema === 'object' && schema !== null ? schema : {}, nullable: false };
  if (Object.hasOwn(found, 'const')) return { kind: 'enum', schema: found, values: [found.const], nullable: false };
  if (Array.isArray(found.enum)) {
    const nullable = found.enum.some((value) => value === null);
    const { enumNames: labels } = found;
    const named = Array.isArray(labels) && labels.every((label) => typeof label === 'string');
    return { kind: 'enum', schema: found, values: found.enum, nullable, ...(named && { labels }) };
  }
  const ways = Array.isArray(found.oneOf) ? found.oneOf : Array.isArray(found.anyOf) ? found.anyOf : null;
  if (ways) return choice(found, ways, root);
  const types = (
    Array.isArray(found.type) ? found.type : found.type === undefined ? guessed(found) : [found.type]
  ).filter((type) => PLAIN.includes(type));
  const nullable = types.length > 1 && types.includes('null');
  const others = nullable ? types.filter((type) => type !== 'null') : types;
  if (others.length > 1)
    return {
      kind: 'choice',
      schema: found,
      nullable,
      options: others.map((type) => ({ ...found, type, title: type })),
    };
  if (others.length === 0) return { kind: 'json', schema: found, nullable };
  return { kind: others[0], schema: found, nullable };
}

function guessed(schema) {
  if (schema.properties || schema.required || schema.additionalProperties) return ['object'];
  if (schema.items || schema.prefixItems) return ['array'];
  return [];
}

function choice(found, ways, root) {
  const { oneOf, anyOf, ...beside } = found;
  const rest = ways.filter((way) => !isNull(way, root));
  const nullable = rest.length < ways.length;
  // Ways that only say which keys must be there are no choice of shapes: the object is drawn.
  if (
    beside.properties &&
    rest.every(
      (way) =>
        typeof way === 'object' &&
        way !== null &&
        !way.$ref &&
        Object.keys(way).every((key) => ['required', 'title', 'description', 'not'].includes(key)),
    )
  ) {
    return { ...shape(beside, root), nullable };
  }
  const constants = rest.map((way) => resolve(way, root)).filter((way) => way && Object.hasOwn(way, 'const'));
  if (constants.length === rest.length && rest.length > 0) {
    return {
      kind: 'enum',
      schema: found,
      nullable,
      values: constants.map((way) => way.const),
      labels: constants.map((way) => way.title ?? way.description),
    };
  }
  const { title, description, default: given, ...shared } = beside;
  const options = rest.map((way) =>
    Object.keys(shared).some((key) => !['$defs', 'definitions', '$schema'].includes(key)) && typeof way === 'object'
      ? { allOf: [shared, way], title: way.title }
      : way,
  );
  if (options.length === 1) {
    const only = shape(options[0], root);
    return {
      ...only,
      schema: {
        ...only.schema,
        ...(title && { title }),
        ...(description && { description }),
        ...(given !== undefined && { default: given }),
      },
      nullable: nullable || only.nullable,
    };
  }
  return { kind: 'choice', schema: found, nullable, options };
}

/** What an option of a choice is called. */
export function named(option, root, at) {
  const found = resolve(option, root) ?? {};
  if (typeof found.title === 'string') return found.title;
  const { kind, values } = shape(option, root);
  const reference = typeof option?.$ref === 'string' ? option.$ref.split('/').at(-1) : null;
  if (reference) return reference;
  const tag = Object.entries(found.properties ?? {}).find(([, property]) => Object.hasOwn(property ?? {}, 'const'));
  if (tag) return `${tag[0]}: ${String(tag[1].const)}`;
  return kind === 'enum' ? values.map(String).join(', ').slice(0, 40) : kind === 'array' ? `list ${at + 1}` : kind;
}

/** How well a value has the form of a schema: 0 where it has not. */
export function fits(value, schema, root, depth = 0) {
  if (value === undefined) return 1;
  const { kind, values, options, nullable, schema: found } = shape(schema, root);
  const is = kindOf(value);
  if (is === 'null') return nullable || kind === 'null' || kind === 'json' || values?.includes(null) ? 2 : 0;
  switch (kind) {
    case 'enum':
      return values.some((one) => isSame(one, value)) ? 5 : 0;
    case 'choice':
      return depth > 5 ? 1 : Math.max(0, ...options.map((option) => fits(value, option, root, depth + 1)));
    case 'json':
      return 1;
    case 'integer':
      return is === 'number' && /^-?\d+$/.test(value instanceof Raw ? value.text : String(value))
        ? 3
        : is === 'raw'
          ? 1
          : 0;
    case 'number':
      return is === 'number' ? 2 : is === 'raw' ? 1 : 0;
    case 'object': {
      if (is !== 'object') return 0;
      let points = 3;
      for (const [key, property] of Object.entries(found.properties ?? {})) {
        if (!Object.hasOwn(value, key)) {
          if (found.required?.includes(key)) points -= 1;
          continue;
        }
        const well = depth > 5 ? 1 : fits(value[key], property, root, depth + 1);
        if (well === 0) return 0.5;
        points += Math.min(well, 5);
      }
      return Math.max(points, 1);
    }
    default:
      return is === kind ? 3 : 0;
  }
}
