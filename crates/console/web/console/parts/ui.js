// Small parts that every view is made of.
import { html, signal, useEffect, useRef, useState } from '../html.js';
import { Icon } from './icons.js';
import { line, safeLink, visible } from './format.js';
import { now, stale } from '../store.js';
import { ago, dateTime } from './format.js';

export const Button = ({ kind = '', small, icon, children, ...rest }) => html`
  <button type="button" class=${`button ${kind} ${small ? 'small' : ''}`} ...${rest}>${icon && html`<${Icon} name=${icon}
    size=${16} />`}${children}</button>`;

const TONES = {
  connected: 'good',
  ok: 'good',
  yes: 'good',
  'signed-in': 'good',
  allow: 'good',
  used: 'good',
  pinned: 'good',
  live: 'good',
  header: 'good',
  'none-needed': 'plain',
  connecting: 'busy',
  running: 'busy',
  asleep: 'plain',
  waiting: 'warn',
  pending: 'warn',
  'needs-auth': 'warn',
  wanted: 'warn',
  expired: 'warn',
  ask: 'warn',
  changed: 'warn',
  failed: 'bad',
  error: 'bad',
  denied: 'bad',
  deny: 'bad',
  no: 'bad',
  refused: 'bad',
  faulty: 'bad',
  rejected: 'bad',
  lost: 'bad',
};

/** A word with its tone. The word says it; the colour helps. */
export const Word = ({ word, text, title }) => html`
  <span class=${`word ${TONES[word] ?? 'plain'}`} title=${title}><i></i>${text ?? String(word ?? '–').replaceAll('-', ' ')}</span>`;

/** How something is; while the gateway is not heard, how it was. */
export const State = ({ word }) =>
  stale.value
    ? html`<${Word} word="unknown" text=${`was ${String(word ?? 'unknown').replaceAll('-', ' ')}`} title="not known any more" />`
    : html`<${Word} word=${word} />`;

export const Chip = ({ children, title, kind = '' }) =>
  html`<span class=${`chip ${kind}`} title=${title}>${children}</span>`;

export const When = ({ at }) =>
  at
    ? html`<time title=${dateTime(at)} dateTime=${new Date(at).toISOString()}>${ago(at, now.value)}</time>`
    : html`<span class="quiet">never</span>`;

/** Text from elsewhere: never markup, never hidden characters. */
export const Text = ({ of, most }) => (most ? line(of, most) : visible(of));

export function Link({ to, children }) {
  const url = safeLink(to);
  if (!url) return html`<code class="address" title="not followed: neither http nor https">${visible(to)}</code>`;
  return html`<a href=${url.href} target="_blank" rel="noopener noreferrer"
    referrerpolicy="no-referrer">${children ?? visible(url.href)} <${Icon} name="link" size=${13} /></a>`;
}

/** What helps: a command, or words. */
export const Hint = ({ of }) =>
  String(of).startsWith('switchboard ') ? html`<code>${visible(of)}</code>` : visible(of);

/** Nothing here yet, and what to do about it. */
export const Empty = ({ title, children, action }) => html`
  <div class="empty"><h2>${title}</h2><p>${children}</p>${action}</div>`;

export const Skeleton = ({ rows = 5 }) => html`
  <div class="skeleton" role="status" aria-label="loading">${Array.from({ length: rows }, (_, at) => html`<div key=${at}></div>`)}</div>`;

/** An error with its remedy. */
export const Fault = ({ of, again }) =>
  of &&
  html`
  <div class="fault" role="alert"><div><strong>${line(of.message ?? of, 600)}</strong>${of.hint && html`<p><${Hint} of=${of.hint} /></p>`}</div>
  ${again && html`<${Button} small onClick=${again}>Try again<//>`}</div>`;

export function Copy({ text, label = 'Copy', small = true }) {
  const [done, setDone] = useState(false);
  const copy = async () => {
    try {
      await navigator.clipboard.writeText(typeof text === 'function' ? await text() : text);
      setDone(true);
      setTimeout(() => setDone(false), 1500);
    } catch {
      toast('The browser did not let this page copy. Select the text instead.', 'bad');
    }
  };
  return html`<${Button} small=${small} icon="copy" onClick=${copy} aria-live="polite">${done ? 'Copied' : label}<//>`;
}

export function Tabs({ tabs, at, to }) {
  const nav = useRef(null);
  // Where they do not all fit, the one that is shown does.
  useEffect(() => {
    const [all, one] = [nav.current, nav.current.querySelector('[aria-current]')];
    if (one && all.scrollWidth > all.clientWidth)
      all.scrollLeft = one.offsetLeft - all.offsetLeft - (all.clientWidth - one.offsetWidth) / 2;
  }, [at, tabs.map(([, label, badge]) => `${label}${badge ?? ''}`).join()]);
  return html`<nav class="tabs" ref=${nav} aria-label="parts of this page">${tabs.map(
    ([key, label, badge]) => html`
    <a key=${key} href=${to(key)} data-testid=${`tab-${key}`} aria-current=${key === at ? 'page' : undefined}>${label}${badge ? html`<span class="badge">${badge}
      </span>` : null}</a>`,
  )}</nav>`;
}

/** A choice of few, all of them seen. */
export const Segments = ({ label, options, value, onChange }) => html`
  <div class="segments" role="group" aria-label=${label}>${options.map(
    ([key, text, title]) => html`
    <button type="button" key=${key} title=${title} aria-pressed=${key === value} onClick=${() => onChange(key)}>${text}</button>`,
  )}</div>`;

export function Dialog({ title, onClose, children, wide, foot }) {
  const ref = useRef(null);
  useEffect(() => {
    const dialog = ref.current;
    dialog.showModal();
    return () => dialog.close();
  }, []);
  return html`<dialog ref=${ref} class=${wide ? 'wide' : ''} aria-label=${title} onCancel=${(event) => {
    event.preventDefault();
    onClose();
  }}
    onClick=${(event) => event.target === ref.current && onClose()}>
    <div class="dialog"><header><h2>${title}</h2><button type="button" class="plain" aria-label="Close" onClick=${onClose}><${Icon}
      name="close" /></button></header>
    <div class="dialog-body">${children}</div>${foot && html`<footer>${foot}</footer>`}</div></dialog>`;
}

const toasts = signal([]);
let nextToast = 1;

/** Says something that needs no answer. */
export function toast(text, kind = 'good') {
  const id = nextToast++;
  toasts.value = [...toasts.value.slice(-3), { id, text, kind }];
  setTimeout(
    () => {
      toasts.value = toasts.value.filter((one) => one.id !== id);
    },
    kind === 'bad' ? 9000 : 4500,
  );
}

export const Toasts = () =>
  html`<div class="toasts" role="status" aria-live="polite">${toasts.value.map(
    (one) => html`
  <div key=${one.id} class=${`toast ${one.kind}`}>${line(one.text, 400)}</div>`,
  )}</div>`;

/** Does something that may be refused, and says so. */
export async function attempt(doing, onFault) {
  try {
    return await doing();
  } catch (fault) {
    if (fault.name === 'AbortError') return undefined;
    if (onFault) onFault(fault);
    else toast(fault.hint ? `${fault.message}: ${fault.hint}` : fault.message, 'bad');
    return undefined;
  }
}

/**
 * What is read once when a part is shown, and again when `by` changes.
 * @template T
 * @param {(signal: AbortSignal) => Promise<T>} read
 * @param {unknown[]} by
 * @returns {{value: T | null, fault: any, busy: boolean, again: () => void}}
 */
export function useRead(read, by) {
  const [state, setState] = useState({ value: null, fault: null, busy: true });
  const [turn, setTurn] = useState(0);
  useEffect(() => {
    const stop = new AbortController();
    setState((before) => ({ ...before, busy: true }));
    read(stop.signal).then(
      (value) => !stop.signal.aborted && setState({ value, fault: null, busy: false }),
      (fault) => !stop.signal.aborted && setState((before) => ({ value: before.value, fault, busy: false })),
    );
    return () => stop.abort();
  }, [...by, turn]);
  return { ...state, again: () => setTurn((number) => number + 1) };
}
