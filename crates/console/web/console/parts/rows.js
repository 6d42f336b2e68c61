// A list of any length, of which only what is seen is in the page. Its nodes are used again:
// what is scrolled to is written into those whose rows have left, in their order, so that a
// jump makes and moves none.
import { html, useEffect, useRef, useState } from '../html.js';

const AROUND = 6;
/** How many rows before the last one older ones are asked for. */
const NEAR = 20;

/** Which node shows which row: those that stay keep theirs, the others take what is free. */
function places(before, keys) {
  const wanted = new Set(keys);
  const free = [];
  for (const [key, place] of before) if (!wanted.has(key)) free.push(place);
  let next = before.size;
  const made = new Map();
  for (const key of keys) made.set(key, before.get(key) ?? free.shift() ?? next++);
  // Nodes that nothing is in are let go: what is left is numbered from 0 without gaps.
  if (free.length) [...made.keys()].forEach((key, at) => made.set(key, at));
  return made;
}

/**
 * `count` rows of `height` pixels; `keyOf(at)` says which one it is, and `row(at, top)` draws
 * it at its place.
 */
export function Rows({ count, height, keyOf, row, onTop, onEnd, scroller, label }) {
  const own = useRef(null);
  const ref = scroller ?? own;
  const held = useRef(new Map());
  const many = useRef(count);
  many.current = count;
  const [seen, setSeen] = useState({ from: 0, to: 30 });
  useEffect(() => {
    const element = ref.current;
    // Measured when it changes, and not while somebody scrolls: asking for it lays out anew.
    let room = element.clientHeight;
    let asked = false;
    const look = () => {
      asked = false;
      const top = element.scrollTop;
      // Always as many, so that no node comes or goes.
      const size = Math.ceil(room / height) + 1 + 2 * AROUND;
      const last = Math.max(0, many.current - size);
      const from = Math.min(Math.max(0, Math.floor(top / height) - AROUND), last);
      const to = from + size;
      setSeen((before) => (before.from === from && before.to === to ? before : { from, to }));
      onTop?.(top < height / 2);
      if ((top + room) / height > many.current - NEAR) onEnd?.();
    };
    const on = () => {
      if (!asked) {
        asked = true;
        requestAnimationFrame(look);
      }
    };
    element.addEventListener('scroll', on, { passive: true });
    const sizes = new ResizeObserver(() => {
      room = element.clientHeight;
      on();
    });
    sizes.observe(element);
    look();
    return () => {
      element.removeEventListener('scroll', on);
      sizes.disconnect();
    };
  }, [height, onTop, onEnd]);
  const keys = [];
  for (let at = seen.from; at < Math.min(seen.to, count); at += 1) keys.push(keyOf(at));
  held.current = places(held.current, keys);
  const rows = keys.map((key, at) => row(seen.from + at, (seen.from + at) * height, held.current.get(key)));
  return html`<div class="scroll" ref=${ref} tabindex="0" role="listbox" aria-label=${label}>
    <div class="room" role="presentation" style=${{ height: `${count * height}px` }}>${rows}</div></div>`;
}
