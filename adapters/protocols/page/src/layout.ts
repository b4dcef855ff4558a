// What of the page is in sight at once, and the drawers for the rest.
import { signal } from '@preact/signals';

// below is a signal that says whether the window is narrower than a width.
function below(width: number) {
  const query = matchMedia(`(max-width: ${width - 1}px)`);
  const s = signal(query.matches);
  query.addEventListener('change', () => {
    closeDrawers();
    s.value = query.matches;
  });
  return s;
}

export const narrow = below(760); // one pane, and tabs at the bottom
export const rail = below(1140); // the threads are a drawer
export const tight = below(1280); // the side pane of the chat is a drawer

// A drawer is a pane that is a popover where it has no place of its own. Each has the id
// of its name.
export type Drawer = 'threads' | 'details';

// open is the drawer that is open; its pane draws what is in it only then.
export const open = signal<Drawer | ''>('');

const pane = (d: Drawer) => document.getElementById(d);

// openDrawer opens a drawer where it is one. It says whether it is.
export function openDrawer(d: Drawer): boolean {
  if (!(d === 'threads' ? rail : tight).value) return false;
  open.value = d;
  const e = pane(d);
  if (e && !e.matches(':popover-open')) e.showPopover();
  return true;
}

export function closeDrawers(): void {
  for (const e of document.querySelectorAll<HTMLElement>(':popover-open')) e.hidePopover();
}

// toggled keeps the signal in step with what a button, Escape or a press elsewhere did.
export const toggled = (d: Drawer) => (e: { newState: string }) => {
  if (e.newState === 'open') open.value = d;
  else if (open.value === d) open.value = '';
};

const stored = 'reveille.details';

// showDetails says whether the side pane is open beside the chat.
export const showDetails = signal(localStorage.getItem(stored) !== 'closed');

// toggleDetails opens or closes the side pane, beside the chat or as a drawer.
export function toggleDetails(): void {
  if (tight.value) {
    if (open.value === 'details') closeDrawers();
    else openDrawer('details');
    return;
  }
  showDetails.value = !showDetails.value;
  localStorage.setItem(stored, showDetails.value ? 'open' : 'closed');
}

// revealDetails opens the side pane, for something in it was chosen.
export function revealDetails(): void {
  if (!openDrawer('details')) showDetails.value = true;
}

export type Theme = 'auto' | 'light' | 'dark';

const storedTheme = 'reveille.theme';

// theme is what a person has chosen; auto is what the system says.
export const theme = signal<Theme>((localStorage.getItem(storedTheme) as Theme | null) ?? 'auto');

export function setTheme(t: Theme): void {
  theme.value = t;
  localStorage.setItem(storedTheme, t);
  document.documentElement.dataset.theme = t;
}

document.documentElement.dataset.theme = theme.value;
