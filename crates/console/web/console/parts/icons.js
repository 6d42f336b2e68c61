// Icons as strokes on a grid of 24.
import { html } from '../html.js';

const PATHS = {
  traffic: 'M4 7h11m0 0-3-3m3 3-3 3M20 17H9m0 0 3-3m-3 3 3 3',
  tools: 'M14.5 6.5a4 4 0 0 0-5.2 5.2L4 17v3h3l5.3-5.3a4 4 0 0 0 5.2-5.2L15 12l-3-3 2.5-2.5Z',
  servers: 'M4 5h16v6H4zM4 13h16v6H4zM8 8h.01M8 16h.01',
  inbox: 'M4 13V6h16v7M4 13h5l1.5 2.5h3L15 13h5v6H4z',
  insight: 'M4 20V10m5 10V4m6 16v-8m5 8V7',
  setup: 'M4 7h9m4 0h3M4 17h3m4 0h9M15 5v4M9 15v4',
  audit: 'M7 4h10v16H7zM10 9h4m-4 4h4m-4 4h2',
  search: 'M11 18a7 7 0 1 0 0-14 7 7 0 0 0 0 14Zm5-2 4 4',
  close: 'M6 6l12 12M18 6 6 18',
  plus: 'M12 5v14M5 12h14',
  up: 'm6 14 6-6 6 6',
  down: 'm6 10 6 6 6-6',
  right: 'm10 6 6 6-6 6',
  copy: 'M9 9h11v11H9zM5 15H4V4h11v1',
  replay: 'M4 12a8 8 0 1 0 2.5-5.8M4 4v4h4',
  theme: 'M12 3a9 9 0 1 0 0 18 9 9 0 0 0 0-18Zm0 0v18m3-16.500v15m3-12.500v10',
  out: 'M14 5h5v14h-5M4 12h10m0 0-3-3m3 3-3 3',
  keys: 'M4 7h16v10H4zM8 11h.01M12 11h.01M16 11h.01M8 14h8',
  dot: 'M12 12h.01',
  play: 'M8 5v14l11-7z',
  pause: 'M9 5v14M15 5v14',
  link: 'M10 14 20 4m0 0h-6m6 0v6M18 14v6H4V6h6',
};

export const Icon = ({ name, size = 18 }) => html`
  <svg class="icon" width=${size} height=${size} viewBox="0 0 24 24" aria-hidden="true"><path d=${PATHS[name]} /></svg>`;
