// Every view has an address, below `#/`.
import { computed, signal } from './html.js';

const hash = signal(location.hash);
addEventListener('hashchange', () => {
  hash.value = location.hash;
});

/** `{path: ['traffic', '12'], query: {filter: '…'}}` */
export const route = computed(() => {
  // Anything else is a code to come in by, which is no place.
  const [path, query] = (hash.value.startsWith('#/') ? hash.value.slice(2) : '').split('?');
  return {
    path: path.split('/').filter(Boolean).map(decode),
    query: Object.fromEntries(new URLSearchParams(query ?? '')),
  };
});

function decode(text) {
  try {
    return decodeURIComponent(text);
  } catch {
    return text;
  }
}

/** The address of a view. */
export function href(path, query) {
  const pairs = Object.entries(query ?? {}).filter(
    ([, value]) => value !== undefined && value !== null && value !== '',
  );
  const text = new URLSearchParams(pairs).toString();
  return (
    '#/' +
    [path]
      .flat()
      .map((segment) => encodeURIComponent(segment))
      .join('/') +
    (text ? `?${text}` : '')
  );
}

export function go(path, query) {
  location.hash = href(path, query);
}

/** Changes the address of this view without a step to go back to. */
export function replace(path, query) {
  history.replaceState(null, '', location.pathname + href(path, query));
  hash.value = location.hash;
}
