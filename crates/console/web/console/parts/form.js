// A value, as a form and as JSON: two views of one thing. What is sent is the text.
import { html, useEffect, useMemo, useRef, useState } from '../html.js';
import { ask } from '../api.js';
import { parse, step, stringify } from '../json.js';
import { Field } from './fields.js';
import { visible } from './format.js';
import { Segments } from './ui.js';

/**
 * A value being edited: `{text, value, bad}`; `bad` says why the text is not JSON. What is in
 * `held` is gone on with, and whatever is typed is put there.
 */
export function useValue(first, held = null) {
  const [state, setState] = useState(() => held?.state ?? from(first));
  if (held) held.state = state;
  return {
    ...state,
    setValue: (value) => setState(from(value)),
    setText: (text) =>
      setState((before) => {
        try {
          return { text, value: parse(text), bad: null };
        } catch (fault) {
          return { text, value: before.value, bad: fault.message, typed: true };
        }
      }),
  };
}

function from(value) {
  const text = stringify(value);
  try {
    parse(text);
    return { text, value, bad: null };
  } catch (fault) {
    return { text, value, bad: fault.message };
  }
}

/** What is missing is said where it is missing. */
function placed({ path, error }) {
  const missing = /^("(?:[^"\\]|\\.)*") is missing/.exec(error);
  try {
    return missing
      ? { path: path + step(JSON.parse(missing[1])), error: error.slice(missing[1].length + 1) }
      : { path, error };
  } catch {
    return { path, error };
  }
}

/** What the gateway says is wrong with it, by place. */
function useFaults(schema, edited) {
  const [faults, setFaults] = useState(new Map());
  const written = useMemo(() => JSON.stringify(schema), [schema]);
  useEffect(() => {
    if (edited.bad !== null) return undefined;
    const stop = new AbortController();
    const timer = setTimeout(() => {
      ask('POST', 'validate', { text: `{"schema":${written},"value":${edited.text}}`, signal: stop.signal }).then(
        (said) => {
          const made = new Map();
          for (const fault of said.faults) {
            const { path, error } = placed(fault);
            made.set(path, [...(made.get(path) ?? []), error]);
          }
          setFaults(made);
        },
        () => {},
      );
    }, 250);
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [written, edited.text]);
  return faults;
}

/** `tried`: it was sent, so that what is still missing is wrong; before that it is only said. */
export function Form({ schema, edited, onRun, tried = false }) {
  const [view, setView] = useState('form');
  const faults = useFaults(schema, edited);
  const area = useRef(null);
  // What was typed as JSON and is not JSON cannot be drawn as a form: it stays where it is.
  const stuck = edited.typed && edited.bad !== null;
  const key = (event) => {
    if (event.key === 'Enter' && (event.ctrlKey || event.metaKey)) {
      event.preventDefault();
      onRun?.();
    }
  };
  return html`<div class="stack" onKeyDown=${key} data-testid="form">
    <div class="row"><${Segments} label="the value as" value=${stuck ? 'json' : view} onChange=${(next) => !stuck && setView(next)}
      options=${[
      ['form', 'Form'],
      ['json', 'JSON'],
    ]} />
      ${faults.size > 0 && edited.bad === null ? html`<span class="quiet small"
        data-testid="fault-count">${faults.size} ${faults.size === 1 ? 'place does' : 'places do'} not fit yet</span>` : null}</div>
    ${
      view === 'form' && !stuck
        ? html`<${Field} schema=${schema} root=${schema} path="" label="" value=${edited.value} required=${true}
          onChange=${(value) => edited.setValue(value === undefined ? {} : value)} faults=${faults} tried=${tried} />`
        : html`<label class="field"><span class="hidden-label">the value as JSON</span><textarea ref=${area} data-testid="json"
          rows=${Math.min(24, Math.max(8, edited.text.split('\n').length + 1))} spellcheck="false" value=${edited.text}
          aria-invalid=${edited.bad !== null} onInput=${(event) => edited.setText(event.target.value)}></textarea></label>`
    }
    ${edited.bad !== null && html`<p class="wrong field"><span class="wrong" role="alert">${edited.bad}</span></p>`}
    ${edited.bad === null && view === 'json' && [...faults].map(([path, errors]) => html`<p key=${path} class="field"><span class="wrong">
      <code>${visible(path) || 'the whole'}</code> ${visible(errors.join('; '))}</span></p>`)}
  </div>`;
}
