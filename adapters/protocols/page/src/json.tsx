// JSON and other code as it is shown, to be copied and taken home.
import { Fragment, type ComponentChildren } from 'preact';
import { useRef, useState } from 'preact/hooks';
import { coded, escaped } from './characters';
import { Shown, shown } from './hidden';
import { highlight, known, parts } from './highlight';
import { Icon } from './icons';
import { lines } from './patch';
import type { JSONValue } from './types';

const most = 200_000; // characters that are shown; the rest is for a file

// pretty is a value as text. A text alone is itself, with real line ends.
export const pretty = (v: JSONValue | undefined) => (v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v, null, 2));

// oneLine is a value as a label.
export function oneLine(v: JSONValue | undefined, length = 120): string {
  const text = v === undefined ? '' : typeof v === 'string' ? v : JSON.stringify(v);
  return text.length > length ? `${text.slice(0, length).replace(/[\ud800-\udbff]$/, '')}…` : text;
}

// JSONView shows a value with its keys, texts and numbers told apart.
export function JSONView({ value, name, label }: { value: JSONValue | undefined; name?: string; label: string }) {
  const text = pretty(value);
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label} dir={typeof value === 'string' ? 'auto' : 'ltr'}><Coloured text={text.slice(0, most)} language={typeof value === 'string' ? '' : 'json'} /></pre>
      <div class="code-actions"><Takes text={text} copied={typeof value === 'string' ? coded(text) : escaped(text)} name={name ?? 'value.json'} label={label} /></div>
    </div>
  );
}

// Code shows code below its language. What is over a size is cut, and for a file whole.
export function Code({ text, language = '', title }: { text: string; language?: string; title?: string }) {
  const label = title ?? (language ? `${language} code` : 'code');
  return (
    <div class="code headed">
      <div class="code-head">
        <span class="meta"><Shown text={title ?? (language || 'text')} /></span>
        <Takes text={text} copied={coded(text)} name={title?.split('/').pop() ?? `code.${language || 'txt'}`} label={label} />
      </div>
      <pre tabIndex={0} role="group" aria-label={coded(label)} dir="ltr"><Coloured text={text.slice(0, most)} language={language.toLowerCase()} /></pre>
    </div>
  );
}

// Takes is how code is taken away: copied, or as a file when there is much of it. What is
// copied has no hidden characters that are not seen.
function Takes({ text, copied, name, label }: { text: string; copied: string; name: string; label: string }) {
  return (
    <>
      {text.length > most && <span class="meta">first {most.toLocaleString()} of {text.length.toLocaleString()} characters</span>}
      {text.length > 2000 && <button type="button" class="small" onClick={() => download(name, text)}>Download</button>}
      <Copy text={copied} label={`Copy ${coded(label)}`}><Icon name="copy" /> Copy</Copy>
    </>
  );
}

interface Part {
  text: string;
  language: string;
  before: string; // what was open before it
  after: string;
  view: ComponentChildren;
}

// Coloured tells code apart by kind. Of code that grows only the last part is read again.
export function Coloured({ text, language = 'json' }: { text: string; language?: string }) {
  const had = useRef<Part[]>([]);
  if (!known(language)) return <Shown text={text} />;
  let open = '';
  had.current = parts(text).map((piece, i) => {
    const before = open;
    const old = had.current[i];
    if (old && old.text === piece && old.before === before && old.language === language) {
      open = old.after;
      return old;
    }
    const [pieces, after] = highlight(piece, language, before);
    open = after;
    const view = <Fragment key={i}>{pieces.map((p, j) => (p.kind ? <span key={j} class={`code-${p.kind}`}>{shown(p.text)}</span> : shown(p.text)))}</Fragment>;
    return { text: piece, language, before, after, view };
  });
  return <>{had.current.map((p) => p.view)}</>;
}

export function Copy({ text, label, children }: { text: string; label: string; children?: ComponentChildren }) {
  const [done, setDone] = useState(false);
  if (!navigator.clipboard) return null; // which a browser has at secure addresses alone
  const copy = async () => {
    await navigator.clipboard.writeText(text);
    setDone(true);
    setTimeout(() => setDone(false), 1500);
  };
  return (
    <button type="button" class="small" aria-label={done ? 'Copied' : label} onClick={() => void copy()}>
      {done ? 'Copied' : children ?? 'Copy'}
    </button>
  );
}

export function download(name: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type: 'text/plain' }));
  const a = document.createElement('a');
  a.href = url;
  a.download = name;
  a.click();
  setTimeout(() => URL.revokeObjectURL(url), 1000);
}

const around = 3; // lines that stay the same around each change

// Diff shows what changed from one value to another. Long stretches that stay are folded.
export function Diff({ before, after, label }: { before: JSONValue; after: JSONValue; label: string }) {
  const all = lines(before, after);
  const near = all.map((_, i) => all.slice(Math.max(0, i - around), i + around + 1).some((l) => l.sign !== ' '));
  if (!near.includes(true)) return <p class="meta">No change.</p>;
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label} class="diff">
        {all.map((l, i) => {
          if (!near[i]) return near[i - 1] ?? i === 0 ? <span key={i} class="diff-fold">⋯{'\n'}</span> : null;
          const kind = l.sign === '+' ? 'diff-in' : l.sign === '-' ? 'diff-out' : '';
          return <span key={i} class={kind}><Shown text={`${l.sign} ${l.text}\n`} /></span>;
        })}
      </pre>
    </div>
  );
}
