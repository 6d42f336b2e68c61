// Times as bars, on a scale of logarithms: ours and theirs in one picture.
import { html } from '../html.js';
import { time } from './format.js';

const WIDTH = 640;
const HEIGHT = 150;
const FOOT = 2;

export function Histogram({ ours, theirs, label }) {
  const all = [...ours, ...theirs].filter(([bound]) => bound > 0);
  if (all.length === 0) return html`<p class="quiet">No call has ended yet.</p>`;
  const low = Math.log10(Math.min(...all.map(([bound]) => bound))) - 0.15;
  const high = Math.log10(Math.max(...all.map(([bound]) => bound))) + 0.05;
  const bins = 36;
  const gather = (buckets) => {
    const made = new Array(bins).fill(0);
    for (const [bound, many] of buckets) {
      if (bound <= 0) continue;
      made[Math.min(bins - 1, Math.max(0, Math.floor(((Math.log10(bound) - low) / (high - low)) * bins)))] += many;
    }
    return made;
  };
  /** @type {[string, number[]][]} */
  const sets = [
    ['ours', gather(ours)],
    ['theirs', gather(theirs)],
  ];
  const most = Math.max(1, ...sets.flatMap(([, counts]) => counts));
  const wide = WIDTH / bins;
  const tall = HEIGHT - FOOT;
  const ticks = [];
  for (let power = Math.ceil(low); power <= Math.floor(high); power += 1) ticks.push(power);
  return html`<svg class="histogram" viewBox=${`0 0 ${WIDTH} ${HEIGHT}`} preserveAspectRatio="none" role="img" aria-label=${label}>
    <line x1="0" x2=${WIDTH} y1=${tall} y2=${tall} />
    ${sets.map(([kind, counts], set) => counts.map((many, at) => many > 0 && html`<rect key=${`${kind}${at}`} class=${kind}
      x=${at * wide + (set * wide) / 2} width=${wide / 2 - 0.6} y=${tall - Math.max(2, (many / most) * (tall - 8))}
      height=${Math.max(2, (many / most) * (tall - 8))}><title>${kind}: ${many}</title></rect>`))}
  </svg>
  <div class="scale" aria-hidden="true">${ticks.map((power) => html`<span key=${power}
    style=${{ left: `${((power - low) / (high - low)) * 100}%` }}>${time(10 ** power)}</span>`)}</div>`;
}
