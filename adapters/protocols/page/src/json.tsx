// JSON and other code as it is shown, to be copied and taken home.
import { useState } from 'preact/hooks';
import { coded, escaped } from './characters';
import { Shown, shown } from './hidden';
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
    <Block text={text} name={name ?? 'value.json'} label={label} copied={typeof value === 'string' ? coded(text) : escaped(text)}>
      {typeof value === 'string' ? <Shown text={text.slice(0, most)} /> : <Coloured text={text.slice(0, most)} />}
    </Block>
  );
}

export function Code({ text, language }: { text: string; language?: string }) {
  return (
    <Block text={text} name={`code.${language || 'txt'}`} label={language ? `${language} code` : 'code'} copied={coded(text)}>
      {language === 'json' ? <Coloured text={text.slice(0, most)} /> : <Shown text={text.slice(0, most)} />}
    </Block>
  );
}

// Block frames a text. What is copied has no hidden characters that are not seen.
function Block({ text, copied, name, label, children }: { text: string; copied: string; name: string; label: string; children: preact.ComponentChildren }) {
  return (
    <div class="code">
      <pre tabIndex={0} role="group" aria-label={label}>{children}</pre>
      <div class="code-actions">
        {text.length > most && <span class="meta">first {most.toLocaleString()} of {text.length.toLocaleString()} characters</span>}
        <Copy text={copied} label={`Copy ${label}`} />
        {text.length > 2000 && <button type="button" class="small" onClick={() => download(name, text)}>Download</button>}
      </div>
    </div>
  );
}

const token = /("(?:[^"\\]|\\.)*")(\s*:)?|\b(true|false|null)\b|-?\d+(?:\.\d+)?(?:[eE][+-]?\d+)?/g;

// Coloured shows JSON with its keys, texts and numbers told apart.
export function Coloured({ text }: { text: string }) {
  const parts: preact.ComponentChildren[] = [];
  let at = 0;
  for (const m of text.matchAll(token)) {
    parts.push(shown(text.slice(at, m.index)));
    at = m.index! + m[0].length;
    if (m[2]) parts.push(<span class="json-key">{shown(m[1])}</span>, m[2]);
    else parts.push(<span class={m[1] ? 'json-text' : 'json-number'}>{shown(m[0])}</span>);
  }
  parts.push(shown(text.slice(at)));
  return <>{parts}</>;
}

export function Copy({ text, label, children }: { text: string; label: string; children?: preact.ComponentChildren }) {
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
