// Long lists of rows of one height: only those in sight are drawn.
import { useLayoutEffect, useState } from 'preact/hooks';

export const few = 200; // rows that are all drawn

const spare = 20; // rows above and below what is in sight

export interface Window {
  from: number;
  to: number;
  above: number; // pixels of the rows that are not drawn
  below: number;
}

const scroller = (e: HTMLElement): HTMLElement => {
  for (let p = e.parentElement; p; p = p.parentElement) if (/auto|scroll/.test(getComputedStyle(p).overflowY)) return p;
  return document.documentElement;
};

// useWindow says which of a list's rows to draw. The list is an element inside of one that
// scrolls; height is that of a row in pixels.
export function useWindow(list: { current: HTMLElement | null }, count: number, height: number): Window {
  const [at, setAt] = useState<[number, number]>([0, 3 * spare]);
  useLayoutEffect(() => {
    if (count <= few || !list.current) return;
    const pane = scroller(list.current);
    const look = () => {
      const e = list.current;
      if (!e) return;
      const top = pane.getBoundingClientRect().top - e.getBoundingClientRect().top;
      const from = Math.max(0, Math.floor(top / height / spare - 1) * spare);
      const to = Math.min(count, Math.ceil((top + pane.clientHeight) / height / spare + 1) * spare);
      setAt((had) => (had[0] === from && had[1] === to ? had : [from, to]));
    };
    look();
    pane.addEventListener('scroll', look, { passive: true });
    const sized = new ResizeObserver(look);
    sized.observe(pane);
    return () => {
      pane.removeEventListener('scroll', look);
      sized.disconnect();
    };
  }, [count, height]);
  if (count <= few) return { from: 0, to: count, above: 0, below: 0 };
  const from = Math.min(at[0], Math.max(0, count - spare));
  const to = Math.max(from, Math.min(at[1], count));
  return { from, to, above: from * height, below: (count - to) * height };
}

// show scrolls to a row of such a list.
export function show(list: HTMLElement | null, index: number, height: number): void {
  if (!list || index < 0) return;
  const pane = scroller(list);
  const head = 40; // what sticks to the top of the pane
  const top = list.getBoundingClientRect().top - pane.getBoundingClientRect().top + pane.scrollTop + index * height;
  if (top < pane.scrollTop + head) pane.scrollTop = Math.max(0, top - head);
  else if (top + height > pane.scrollTop + pane.clientHeight) pane.scrollTop = top + height - pane.clientHeight;
}
