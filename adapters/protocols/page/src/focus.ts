const seen = new WeakSet<HTMLElement>();

// focusOnce, as the ref of a field, moves the focus to it when it appears.
export function focusOnce(e: HTMLElement | null): void {
  if (!e || seen.has(e)) return;
  seen.add(e);
  e.focus();
}
