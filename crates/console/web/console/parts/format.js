// Numbers, times and texts as people read them.

export function bytes(count) {
  if (count === null || count === undefined) return '–';
  if (count < 1000) return `${count} B`;
  const units = ['kB', 'MB', 'GB', 'TB'];
  let value = count / 1000;
  let unit = 0;
  while (value >= 999.5 && unit < units.length - 1) {
    value /= 1000;
    unit += 1;
  }
  return `${value < 10 ? value.toFixed(1) : Math.round(value)} ${units[unit]}`;
}

/** Microseconds. */
export function time(micros) {
  if (micros === null || micros === undefined) return '–';
  if (micros < 1000) return `${micros} µs`;
  const ms = micros / 1000;
  if (ms < 10) return `${ms.toFixed(1)} ms`;
  if (ms < 1000) return `${Math.round(ms)} ms`;
  const seconds = ms / 1000;
  if (seconds < 60) return `${seconds < 10 ? seconds.toFixed(2) : seconds.toFixed(1)} s`;
  return span(seconds);
}

/** Seconds, roughly. */
export function span(seconds) {
  const whole = Math.max(0, Math.round(seconds));
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min`;
  if (whole < 86_400) return `${Math.floor(whole / 3600)} h ${Math.floor((whole % 3600) / 60)} min`;
  return `${Math.floor(whole / 86_400)} d ${Math.floor((whole % 86_400) / 3600)} h`;
}

export const ago = (at, now) => (at ? (now - at < 1500 ? 'now' : `${span((now - at) / 1000)} ago`) : 'never');

export function count(number) {
  if (number === null || number === undefined) return '–';
  if (number < 10_000) return String(number);
  if (number < 999_500) return `${(number / 1000).toFixed(number < 100_000 ? 1 : 0)} k`;
  return `${(number / 1e6).toFixed(1)} M`;
}

export const plural = (number, one, many = `${one}s`) => `${count(number)} ${number === 1 ? one : many}`;

const two = (number) => (number < 10 ? `0${number}` : String(number));
/** By hand: a list that is scrolled asks for it a thousand times a second. */
function clock(at) {
  const date = new Date(at);
  return `${two(date.getHours())}:${two(date.getMinutes())}:${two(date.getSeconds())}`;
}
const whole = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });
export const clockTime = (at) => (at ? clock(at) : '–');
export const dateTime = (at) => (at ? whole.format(at) : '–');

// What moves a cursor, hides or turns text around, is shown as what it is: none of it is
// drawn as it came from a server. Line ends and tabs stay.
// eslint-disable-next-line no-control-regex
const HIDDEN =
  /[\u0000-\u0008\u000b\u000c\u000e-\u001f\u007f-\u009f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff\uffa0\ufff0-\ufffb]|\udb40[\udc00-\udfff]/g;

export const visible = (text) =>
  String(text ?? '').replace(
    HIDDEN,
    (sign) => `⟨U+${sign.codePointAt(0).toString(16).toUpperCase().padStart(4, '0')}⟩`,
  );

/** One line, cut. */
export function line(text, most = 200) {
  const one = visible(text).replace(/\s+/g, ' ').trim();
  return one.length > most ? `${one.slice(0, most - 1)}…` : one;
}

/** Whether lines stand in columns, which wrapping would pull apart. */
export const isAligned = (text) => (text.match(/^.*\S(?: {2,}|\t).*\S/gm)?.length ?? 0) > 1;

/** An address that may be followed, or null: nothing but http and https. */
export function safeLink(text) {
  try {
    const url = new URL(text);
    return url.protocol === 'https:' || url.protocol === 'http:' ? url : null;
  } catch {
    return null;
  }
}
