// JSON without losses: a number that JavaScript would write otherwise is kept as it was
// typed, and so is what somebody is still typing. Keys that stand there twice are refused,
// since others could read them otherwise.

/** Text that stands in a value as it was typed. */
export class Raw {
  constructor(text) {
    this.text = text;
  }
}

export class NotJson extends Error {
  constructor(text, at, what) {
    const before = text.slice(0, at);
    const line = before.split('\n').length;
    super(`line ${line}, column ${at - before.lastIndexOf('\n')}: ${what}`);
    this.at = at;
  }
}

const DEEPEST = 200;
/** @type {[string, boolean | null][]} */
const WORDS = [
  ['true', true],
  ['false', false],
  ['null', null],
];
const NUMBER = /-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][+-]?\d+)?/y;
const STRING = /"(?:[^"\\\u0000-\u001f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*"/y; // eslint-disable-line no-control-regex
const SPACE = /[ \t\n\r]*/y;

export function parse(text) {
  let at = 0;
  const fail = (what) => {
    throw new NotJson(text, at, what);
  };
  const skip = () => {
    SPACE.lastIndex = at;
    SPACE.exec(text);
    at = SPACE.lastIndex;
  };
  const match = (pattern) => {
    pattern.lastIndex = at;
    const found = pattern.exec(text);
    if (!found) return null;
    at = pattern.lastIndex;
    return found[0];
  };
  const string = () => {
    const found = match(STRING);
    if (found === null)
      fail(
        text[at] === '"'
          ? 'this text does not end, or has a character that must be escaped'
          : 'a key in quotes is missing',
      );
    return JSON.parse(found);
  };
  const value = (depth) => {
    if (depth > DEEPEST) fail('nested too deeply');
    skip();
    const sign = text[at];
    if (sign === '{') return object(depth);
    if (sign === '[') return array(depth);
    if (sign === '"') return string();
    for (const [word, meant] of WORDS) {
      if (text.startsWith(word, at)) {
        at += word.length;
        return meant;
      }
    }
    const number = match(NUMBER);
    if (number === null) fail(at >= text.length ? 'a value is missing' : `unexpected ${JSON.stringify(text[at])}`);
    return exact(number);
  };
  const object = (depth) => {
    const made = {};
    at += 1;
    skip();
    if (text[at] === '}') {
      at += 1;
      return made;
    }
    for (;;) {
      skip();
      const start = at;
      const key = string();
      if (Object.hasOwn(made, key)) {
        at = start;
        fail(`the key ${JSON.stringify(key)} stands there twice`);
      }
      skip();
      if (text[at] !== ':') fail('":" is missing');
      at += 1;
      put(made, key, value(depth + 1));
      skip();
      if (text[at] === ',') {
        at += 1;
        continue;
      }
      if (text[at] === '}') {
        at += 1;
        return made;
      }
      fail('"," or "}" is missing');
    }
  };
  const array = (depth) => {
    const made = [];
    at += 1;
    skip();
    if (text[at] === ']') {
      at += 1;
      return made;
    }
    for (;;) {
      made.push(value(depth + 1));
      skip();
      if (text[at] === ',') {
        at += 1;
        continue;
      }
      if (text[at] === ']') {
        at += 1;
        return made;
      }
      fail('"," or "]" is missing');
    }
  };
  const whole = value(0);
  skip();
  if (at < text.length) fail('there is something behind the value');
  return whole;
}

/** A number as it was written. */
export function exact(text) {
  const number = Number(text);
  return String(number) === text ? number : new Raw(text);
}

/** Whether a text is a number of JSON. */
export function isNumber(text) {
  NUMBER.lastIndex = 0;
  const found = NUMBER.exec(text);
  return found !== null && found[0].length === text.length;
}

/** Sets a key, whatever it is called. */
export function put(object, key, value) {
  Object.defineProperty(object, key, { value, enumerable: true, configurable: true, writable: true });
}

/** The text of a value, with two spaces for each level, or without any. */
export function stringify(value, indent = '  ', level = '') {
  if (value instanceof Raw) return value.text;
  if (value === null || typeof value !== 'object') return JSON.stringify(value) ?? 'null';
  const deeper = level + indent;
  const [open, close, parts] = Array.isArray(value)
    ? ['[', ']', value.map((one) => stringify(one, indent, deeper))]
    : [
        '{',
        '}',
        Object.entries(value).map(
          ([key, one]) => `${JSON.stringify(key)}:${indent ? ' ' : ''}${stringify(one, indent, deeper)}`,
        ),
      ];
  if (parts.length === 0) return open + close;
  return indent ? `${open}\n${deeper}${parts.join(`,\n${deeper}`)}\n${level}${close}` : open + parts.join(',') + close;
}

export const kindOf = (value) => {
  if (value instanceof Raw) return isNumber(value.text) ? 'number' : 'raw';
  if (value === null) return 'null';
  return Array.isArray(value) ? 'array' : typeof value;
};

export const isSame = (one, other) => stringify(one, '') === stringify(other, '');

/** A step of a JSON pointer. */
export const step = (key) => `/${String(key).replaceAll('~', '~0').replaceAll('/', '~1')}`;
/** The steps of one. */
export const steps = (pointer) =>
  pointer
    .split('/')
    .slice(1)
    .map((part) => part.replaceAll('~1', '/').replaceAll('~0', '~'));

/** Where two values differ: `[{path, before, after}]`. */
export function differences(before, after, path = '', found = []) {
  if (found.length > 500) return found;
  const [one, other] = [kindOf(before), kindOf(after)];
  if (one === 'object' && other === 'object') {
    for (const key of new Set([...Object.keys(before), ...Object.keys(after)])) {
      const place = path + step(key);
      if (!Object.hasOwn(before, key)) found.push({ path: place, after: after[key] });
      else if (!Object.hasOwn(after, key)) found.push({ path: place, before: before[key] });
      else differences(before[key], after[key], place, found);
    }
  } else if (one === 'array' && other === 'array') {
    for (let at = 0; at < Math.max(before.length, after.length); at += 1) {
      const place = path + step(at);
      if (at >= before.length) found.push({ path: place, after: after[at] });
      else if (at >= after.length) found.push({ path: place, before: before[at] });
      else differences(before[at], after[at], place, found);
    }
  } else if (!isSame(before, after)) {
    found.push({ path, before, after });
  }
  return found;
}
