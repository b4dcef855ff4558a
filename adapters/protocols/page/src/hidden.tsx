// Texts of others as they are: what hides in them is shown as its code.
import type { ComponentChildren } from 'preact';
import { label, split } from './characters';

export { cleaned, coded, hiddenIn } from './characters';

const most = 1000; // codes that are marked; the others are plain text

// shown is a text whose hidden characters are codes, which copies and screen readers have
// too. In prose the joiners of scripts and pictures stay what they are.
export function shown(text: string, prose = false): ComponentChildren {
  const parts = split(text, prose);
  if (parts.length === 1 && typeof parts[0] === 'string') return parts[0];
  return (
    <>
      {parts.slice(0, most).map((p, i) => (typeof p === 'string' ? p : <mark key={i} class="secret">{label(p)}</mark>))}
      {parts.length > most && parts.slice(most).map((p) => (typeof p === 'string' ? p : `[${label(p)}]`)).join('')}
    </>
  );
}

export const Shown = ({ text, prose }: { text: string; prose?: boolean }) => <>{shown(text, prose)}</>;
