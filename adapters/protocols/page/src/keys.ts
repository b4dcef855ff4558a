// The keyboard. Letters work outside of text fields, and can be switched off.
import { signal } from '@preact/signals';
import { go, route, select, tabs } from './route';
import { closeDrawers, openDrawer, revealDetails } from './layout';

const stored = 'reveille.letters';

// letters says whether single letters do something.
export const letters = signal(localStorage.getItem(stored) !== 'off');

export function switchLetters(on: boolean): void {
  letters.value = on;
  localStorage.setItem(stored, on ? 'on' : 'off');
}

// overlay is the dialog of the shell that is open.
export const overlay = signal<'' | 'help' | 'palette'>('');

export const help: [keys: string, what: string][] = [
  ['?', 'these keys'],
  ['Ctrl and K', 'go to a thread, an agent, a view'],
  ['/', 'search threads'],
  ['g t, g r, g w', 'threads, runs, waiting'],
  ['g a, g m, g u', 'agents, models, usage'],
  ['f', 'filter the list'],
  ['n', 'new thread'],
  ['c', 'write'],
  ['j, k', 'next and previous row of a list'],
  ['arrows', 'in the timeline'],
  ['[ or ]', 'previous and next step'],
  ['1 to 5', 'Timeline or Call, State, Request, Events, Use it'],
  ['y', 'copy a link to what is selected'],
  ['a, d, e', 'approve, deny, edit the call that has the focus'],
  ['x, o', 'select what waits, open its thread'],
  ['Shift and a, d', 'approve, deny all that are selected'],
  ['Ctrl and .', 'stop the run'],
  ['F6', 'next pane'],
];

const writing = (e: KeyboardEvent) =>
  e.isComposing || (e.target instanceof HTMLElement && (e.target.isContentEditable || /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)));

const focus = (selector: string) => document.querySelector<HTMLElement>(selector)?.focus();

let pending = ''; // a g that waits for its second letter
let forget = 0;

// listen installs the keys. stop ends the open run.
export function listen(stop: () => void): () => void {
  const press = (e: KeyboardEvent) => {
    const command = e.ctrlKey || e.metaKey;
    if (command && !e.altKey && e.key.toLowerCase() === 'k') {
      e.preventDefault();
      overlay.value = overlay.value === 'palette' ? '' : 'palette';
    } else if (command && e.key === '.') {
      e.preventDefault();
      stop();
    } else if (e.key === 'F6') {
      e.preventDefault();
      nextPane(e.shiftKey ? -1 : 1);
    } else if (!command && !e.altKey && letters.value && !writing(e) && !document.querySelector('dialog[open]')) {
      if (letter(e.key)) e.preventDefault();
    }
  };
  addEventListener('keydown', press);
  return () => removeEventListener('keydown', press);
}

function letter(key: string): boolean {
  const second = pending;
  pending = '';
  if (second === 'g') {
    const to = ({ t: {}, r: { view: 'runs' }, w: { view: 'waiting' }, a: { view: 'agents' }, m: { view: 'models' }, u: { view: 'usage' } } as const)[key as 't'];
    if (!to) return false;
    if (key === 't') {
      openDrawer('threads');
      requestAnimationFrame(() => focus('.threads [data-row], #search'));
    } else go(to);
    return true;
  }
  switch (key) {
    case 'g':
      pending = 'g';
      clearTimeout(forget);
      forget = window.setTimeout(() => (pending = ''), 1500);
      return true;
    case '?':
      overlay.value = 'help';
      return true;
    case '/':
      openDrawer('threads');
      requestAnimationFrame(() => focus('#search'));
      return true;
    case 'n':
      go({});
      closeDrawers();
      requestAnimationFrame(() => focus('#composer'));
      return true;
    case 'c':
      closeDrawers();
      requestAnimationFrame(() => focus('#composer'));
      return true;
    case 'j':
      return row(1);
    case 'k':
      return row(-1);
    case '[':
      return step(-1);
    case ']':
      return step(1);
    case 'f':
      focus('[data-filter]');
      return document.querySelector('[data-filter]') !== null;
    case 'y':
      void navigator.clipboard?.writeText(location.href);
      return true;
    case 'a':
    case 'd':
    case 'e':
      return decide(key);
  }
  const tab = tabs[Number(key) - 1];
  if (!tab) return false;
  revealDetails();
  select({ tab });
  return true;
}

// rowsAround is the list that an element is in.
const rowsAround = (e: Element | null) => e?.closest('.thread-list, [data-rows]') ?? e?.closest('ul, table, [role=treegrid]');

// row moves along the rows of the list that has the focus, or of the first one.
function row(by: number): boolean {
  const active = document.activeElement;
  const list = rowsAround(active) ?? rowsAround(document.querySelector('main [data-row]')) ?? document.querySelector('.thread-list');
  const all = Array.from(list?.querySelectorAll<HTMLElement>('[data-row]') ?? []);
  const i = all.indexOf(active as HTMLElement);
  const next = all[i < 0 ? 0 : Math.min(all.length - 1, Math.max(0, i + by))];
  next?.focus();
  return !!next;
}

function step(by: number): boolean {
  const listed = document.querySelector<HTMLElement>('[data-steps]')?.dataset.steps; // of the page of a run
  const steps = listed !== undefined ? listed.split(' ').filter(Boolean).map(Number) : Array.from(document.querySelectorAll<HTMLElement>('[data-step]'), (e) => Number(e.dataset.step));
  if (!steps.length) return false;
  const at = steps.indexOf(route.value.step);
  select({ step: steps[at < 0 ? (by > 0 ? 0 : steps.length - 1) : Math.min(steps.length - 1, Math.max(0, at + by))], call: '' });
  return true;
}

// decide answers only the call that has the focus, so that no stray letter does.
function decide(key: string): boolean {
  const ticket = document.activeElement?.closest('[data-ticket]');
  const button = ticket?.querySelector<HTMLButtonElement>(`[data-key="${key}"]`);
  button?.click();
  return !!button;
}

function nextPane(by: number): void {
  const panes = Array.from(document.querySelectorAll<HTMLElement>('[data-pane]')).filter((e) => e.checkVisibility());
  const at = panes.findIndex((p) => p.contains(document.activeElement));
  const next = panes[(at + by + panes.length) % panes.length];
  (next?.querySelector<HTMLElement>('#composer, [aria-selected="true"][tabindex="0"], a[href], button, input') ?? next)?.focus();
}

