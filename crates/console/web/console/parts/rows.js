// A list of any length, of which only what is seen is in the page.
import { html, useEffect, useRef, useState } from '../html.js';

const AROUND = 6;

/** `count` rows of `height` pixels; `row(at)` draws one, told where it goes. */
export function Rows({ count, height, row, onTop, onEnd, scroller, label }) {
  const own = useRef(null);
  const ref = scroller ?? own;
  const [seen, setSeen] = useState({ from: 0, to: 30 });
  useEffect(() => {
    const element = ref.current;
    let asked = false;
    const look = () => {
      asked = false;
      const from = Math.max(0, Math.floor(element.scrollTop / height) - AROUND);
      const to = Math.ceil((element.scrollTop + element.clientHeight) / height) + AROUND;
      setSeen((before) => (before.from === from && before.to === to ? before : { from, to }));
      onTop?.(element.scrollTop < height / 2);
      if (element.scrollTop + element.clientHeight > element.scrollHeight - height * 20) onEnd?.();
    };
    const on = () => {
      if (!asked) {
        asked = true;
        requestAnimationFrame(look);
      }
    };
    element.addEventListener('scroll', on, { passive: true });
    const sizes = new ResizeObserver(on);
    sizes.observe(element);
    look();
    return () => {
      element.removeEventListener('scroll', on);
      sizes.disconnect();
    };
  }, [height, onTop, onEnd]);
  const rows = [];
  for (let at = seen.from; at < Math.min(seen.to, count); at += 1) rows.push(row(at, at * height));
  return html`<div class="scroll" ref=${ref} tabindex="0" role="listbox" aria-label=${label}>
    <div class="room" role="presentation" style=${{ height: `${count * height}px` }}>${rows}</div></div>`;
}
