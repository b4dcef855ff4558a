// What of the page is seen at once.
import { signal } from '@preact/signals';

const query = matchMedia('(max-width: 759px)');

// narrow says that there is room for one pane alone.
export const narrow = signal(query.matches);
query.addEventListener('change', () => (narrow.value = query.matches));

// pane is the one that a narrow screen shows.
export const pane = signal<'threads' | 'chat' | 'run'>('chat');

const stored = 'reveille.details';

// showDetails says whether the right pane is open beside the others.
export const showDetails = signal(localStorage.getItem(stored) !== 'closed');

export function toggleDetails(): void {
  showDetails.value = !showDetails.value;
  localStorage.setItem(stored, showDetails.value ? 'open' : 'closed');
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
