// What is at the top of each view: its name, and where the threads are when they are a
// drawer.
import type { ComponentChildren } from 'preact';
import { useEffect } from 'preact/hooks';
import { coded } from './characters';
import { Icon } from './icons';

// Head is the 48 pixels above a view. state is right of the name, children at the far end.
export function Head({ title, hint, state, children }: { title: string; hint?: string; state?: ComponentChildren; children?: ComponentChildren }) {
  useEffect(() => void (document.title = `${coded(title, true)} · Reveille`), [title]);
  return (
    <header class="head">
      <button type="button" class="icon-button drawer" popovertarget="threads" aria-label="Threads"><Icon name="menu" /></button>
      <h1 class="cut" title={hint} dir="auto">{title}</h1>
      {state}
      <span class="grow" />
      {children}
    </header>
  );
}
