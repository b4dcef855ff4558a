// Escape closes what was opened last, and no more than that.
import { useLayoutEffect, useRef } from 'preact/hooks';

const open: { close: () => void }[] = [];

addEventListener('keydown', (e) => {
  // Dialogs and drawers are over everything else, and the browser closes them itself.
  if (e.key !== 'Escape' || e.defaultPrevented || e.isComposing || !open.length || document.querySelector('dialog[open], :popover-open')) return;
  e.preventDefault();
  open.at(-1)!.close();
});

// useEscape lets Escape close something for as long as it is open.
export function useEscape(is: boolean, close: () => void): void {
  const latest = useRef(close);
  latest.current = close;
  useLayoutEffect(() => { // at once: a key may follow what is drawn before an effect runs
    if (!is) return;
    const mine = { close: () => latest.current() };
    open.push(mine);
    return () => void open.splice(open.indexOf(mine), 1);
  }, [is]);
}
