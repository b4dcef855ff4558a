// The sources that a text cites, numbered, with the part of the text that each is for.
import { Shown, coded } from './hidden';
import type { Annotation, Block } from './types';

const link = /^https?:\/\//i;

interface Source {
  of: Annotation;
  parts: string[]; // of the text
}

// sourcesOf are the sources of a text, each once, in the order of the text.
export function sourcesOf(block: Block): Source[] {
  const bytes = new TextEncoder().encode(block.text ?? '');
  const found = new Map<string, Source>();
  for (const a of block.annotations ?? []) {
    const key = a.url || `${a.id ?? ''} ${a.document ?? ''} ${a.title ?? ''} ${place(a)}`;
    const source = found.get(key) ?? { of: a, parts: [] };
    const part = new TextDecoder().decode(bytes.slice(a.start, a.end)).trim();
    if (part && !source.parts.includes(part)) source.parts.push(part);
    found.set(key, source);
  }
  return [...found.values()];
}

// place says which part of a document is meant: the wire's end is after it.
function place(a: Annotation): string {
  const from = a.from ?? 0;
  const last = Math.max(from, (a.to ?? 0) - 1);
  return a.unit === 'page' ? (last > from ? `pages ${from} to ${last}` : `page ${from}`) : '';
}

const short = (text: string) => (text.length > 80 ? `${text.slice(0, 79)}…` : text);

export function Sources({ block }: { block: Block }) {
  if (!block.annotations?.length) return null;
  return (
    <ol class="sources" aria-label="Sources">
      {sourcesOf(block).map(({ of, parts }, i) => {
        const name = of.title || of.url || of.id || (of.document ? `document ${of.document}` : 'a source');
        return (
          <li key={i} dir="auto">
            {of.url && link.test(of.url) ? <a href={of.url} target="_blank" rel="noopener noreferrer" title={coded(of.url)}><Shown text={name} /></a> : <Shown text={name} />}
            {place(of) && `, ${place(of)}`}
            {parts.length > 0 && <span class="meta"> for <q><Shown text={short(parts[0])} /></q>{parts.length > 1 && ` and ${parts.length - 1} more`}</span>}
          </li>
        );
      })}
    </ol>
  );
}
