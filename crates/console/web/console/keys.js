// Keys that work everywhere. A view adds its own while it is shown.
import { useEffect } from './html.js';
import { signal } from './html.js';

const own = signal([]);

/** Those of the view that is shown, for `?`. */
export const viewKeys = own;

const isTyping = (target) => target.closest?.('input, textarea, select, [contenteditable]');

/** Adds keys while a view is shown: `[['j', 'next call', fn], …]`. */
export function useKeys(keys) {
  useEffect(() => {
    own.value = keys.map(([key, label]) => [key, label]);
    const on = (event) => {
      if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
      if (document.querySelector('dialog[open]')) return;
      const found = keys.find(([key]) => key === event.key);
      if (!found) return;
      event.preventDefault();
      found[2](event);
    };
    addEventListener('keydown', on);
    return () => {
      removeEventListener('keydown', on);
      own.value = [];
    };
  });
}

/** Keys of the whole page: `{palette, help, go}`. */
export function globalKeys({ palette, help, go }) {
  let first = null;
  const on = (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === 'k') {
      event.preventDefault();
      return palette();
    }
    if (event.defaultPrevented || event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target))
      return undefined;
    if (document.querySelector('dialog[open]')) return undefined;
    if (first === 'g') {
      first = null;
      if (go(event.key)) event.preventDefault();
      return undefined;
    }
    if (event.key === 'g') {
      first = 'g';
      setTimeout(() => {
        first = null;
      }, 1200);
    }
    if (event.key === '?') {
      event.preventDefault();
      help();
    }
    return undefined;
  };
  addEventListener('keydown', on);
  return () => removeEventListener('keydown', on);
}
