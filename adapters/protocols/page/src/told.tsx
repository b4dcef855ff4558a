// What a screen reader is told of an act of the user.
import { signal } from '@preact/signals';

const told = signal('');

// tell says what has happened. The same again is said again.
export function tell(text: string): void {
  told.value = told.value === text ? `${text}\u00a0` : text;
}

export const Told = () => <div class="hidden" role="status" aria-live="polite">{told.value}</div>;
