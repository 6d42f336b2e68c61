// `/api/v1`, and nothing else: what is asked, and errors with what to do about them.
import { token, me, keep, forget } from './session.js';

const PREFIX = '/api/v1/';

/** Why something was not done: `message`, `code`, `hint`, `field`, `status`. */
export class Refused extends Error {
  constructor(status, said) {
    super(said.error || `the gateway answered ${status}`);
    Object.assign(this, { status, code: said.code || '', hint: said.hint || null, field: said.field || null, said });
  }
}

export function address(path, query) {
  const pairs = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const text = new URLSearchParams(pairs.map(([key, value]) => [key, String(value)])).toString();
  return PREFIX + path + (text ? `?${text}` : '');
}

/** A segment of a path. */
export const part = (text) => encodeURIComponent(text);

/**
 * Asks; `text` is a body that is sent as it is, `body` one that is written as JSON.
 * @template {string} Verb
 * @template {string} Path
 * @param {Verb} verb
 * @param {Path} path
 * @param {{query?: Record<string, unknown> | null, body?: unknown, text?: string, signal?: AbortSignal, bearer?: string | null}} [options]
 * @returns {Promise<import('api').Answer<Verb, Path>>}
 */
export async function ask(verb, path, { query, body, text, signal, bearer = token.value } = {}) {
  /** @type {Record<string, string>} */
  const headers = { accept: 'application/json' };
  if (bearer) headers.authorization = `Bearer ${bearer}`;
  const sent = text ?? (body === undefined ? undefined : JSON.stringify(body));
  if (sent !== undefined) headers['content-type'] = 'application/json';
  let answer;
  try {
    answer = await fetch(address(path, query), {
      method: verb,
      headers,
      body: sent,
      signal,
      credentials: 'omit',
      cache: 'no-store',
    });
  } catch (fault) {
    if (fault.name === 'AbortError') throw fault;
    throw new Refused(0, {
      error: 'the gateway does not answer',
      code: 'unreachable',
      hint: 'is it still running? `switchboard up` starts it',
    });
  }
  const said = await read(answer);
  if (answer.ok) return said;
  if (answer.status === 401 && bearer) forget('Your session has ended.');
  throw new Refused(answer.status, said ?? {});
}

async function read(answer) {
  const text = await answer.text();
  if (!text) return null;
  try {
    return JSON.parse(text);
  } catch {
    return { error: text.trim().slice(0, 300) };
  }
}

/**
 * @template {string} Path
 * @param {Path} path
 * @param {Record<string, unknown> | null} [query]
 * @param {AbortSignal} [signal]
 * @returns {Promise<import('api').Answer<'GET', Path>>}
 */
export const get = (path, query, signal) => ask('GET', path, { query, signal });
/**
 * @template {string} Path
 * @param {Path} path
 * @param {object} [body]
 * @param {AbortSignal} [signal]
 * @returns {Promise<import('api').Answer<'POST', Path>>}
 */
export const post = (path, body, signal) => ask('POST', path, { body: body ?? {}, signal });
/**
 * @template {string} Path
 * @param {Path} path
 * @returns {Promise<import('api').Answer<'DELETE', Path>>}
 */
export const remove = (path) => ask('DELETE', path);

/** Opens a session with a single-use code. */
export async function enter(code) {
  const entered = await ask('POST', 'session', { body: { code }, bearer: null });
  keep(entered.token);
  me.value = entered.me;
}

/** Opens one with a token that somebody has. */
export async function enterWith(bearer) {
  me.value = await ask('GET', 'session', { bearer });
  keep(bearer);
}
