const seen = new WeakSet<HTMLElement>();

// focusOnce, as the ref of a field, moves the focus to it when it appears.
export function focusOnce(e: HTMLElement | null): void {
  if (!e || seen.has(e)) return;
  seen.add(e);
  e.focus();
}

// focusNext moves the focus on when an answer was given in the chat: to the next ticket,
// else to the field below. A field would open the keyboard of a phone, so the focus goes to
// the conversation there.
export function focusNext(answered: string): void {
  requestAnimationFrame(() => {
    const tickets = Array.from(document.querySelectorAll<HTMLElement>('[role="log"] [data-ticket]'));
    const next = tickets.find((t) => t.dataset.ticket !== answered && t.dataset.answered === undefined);
    const wide = matchMedia('(min-width: 760px)').matches;
    const to = next ?? (wide ? document.getElementById('composer') ?? document.querySelector<HTMLElement>('.composer button') : document.querySelector<HTMLElement>('[role="log"]'));
    to?.focus();
    next?.scrollIntoView({ block: 'nearest' });
  });
}
