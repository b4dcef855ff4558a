// Markdown as elements. Nothing is ever parsed as HTML: what the lexer calls HTML is shown
// as the text that it is. What it calls an image is a link, unless it is a file of the
// thread itself, so that no text can make the browser send anything anywhere.
import { Fragment, createContext, type ComponentChildren } from 'preact';
import { useContext, useMemo, useRef } from 'preact/hooks';
import { Lexer, type Token, type Tokens } from 'marked';
import { picture } from './file';
import { grow, nothing } from './growing';
import { coded, shown } from './hidden';
import { Code } from './json';
import type { Block as FileBlock } from './types';

const safe = /^(https?:|mailto:)/i;

// OwnFiles finds a file of the thread that is shown by its name or address.
export const OwnFiles = createContext<(address: string) => FileBlock | undefined>(() => undefined);

// Markdown shows a text. While it grows only its open end is read again: what lies before
// the last place where it can be cut stays.
export function Markdown({ text, open }: { text: string; open?: boolean }) {
  const growth = useRef(nothing);
  if (!open) return <div class="markdown" dir="auto"><Piece text={text} /></div>;
  const { ends, fence, language } = (growth.current = grow(growth.current, text));
  const tail = text.slice(ends.at(-1) ?? 0);
  return (
    <div class="markdown" dir="auto">
      {ends.map((end, i) => <Piece key={i} text={text.slice(ends[i - 1] ?? 0, end)} />)}
      {fence ? <Code text={tail.slice(tail.indexOf('\n') + 1)} language={language} /> : <Piece key={ends.length} text={tail} />}
    </div>
  );
}

function Piece({ text }: { text: string }) {
  return useMemo(() => <Blocks tokens={new Lexer({ gfm: true, breaks: true }).lex(text)} />, [text]);
}

function Blocks({ tokens }: { tokens: Token[] }) {
  return <>{tokens.map((t, i) => <Block key={i} token={t} />)}</>;
}

function Block({ token }: { token: Token }) {
  switch (token.type) {
    case 'heading': {
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 1)}` as 'h3';
      return <Heading dir="auto">{inline((token as Tokens.Heading).tokens)}</Heading>;
    }
    case 'paragraph':
      return <p dir="auto">{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={/^\S*/.exec((token as Tokens.Code).lang ?? '')![0]} />;
    case 'blockquote':
      return <blockquote><Blocks tokens={(token as Tokens.Blockquote).tokens} /></blockquote>;
    case 'list':
      return <List token={token as Tokens.List} />;
    case 'table':
      return <Table token={token as Tokens.Table} />;
    case 'hr':
      return <hr />;
    case 'html':
      return <p class="plain" dir="auto">{prose(token.raw.trimEnd())}</p>;
    case 'text':
      return <>{'tokens' in token && token.tokens ? inline(token.tokens) : prose(decode((token as Tokens.Text).text))}</>;
    case 'space':
    case 'def':
      return null;
    case 'checkbox':
      return <Checkbox checked={(token as Tokens.Checkbox).checked} />;
  }
  return <p>{prose(token.raw)}</p>;
}

function Checkbox({ checked }: { checked?: boolean }) {
  return <span role="img" aria-label={checked ? 'done' : 'open'}>{checked ? '☑ ' : '☐ '}</span>;
}

function List({ token }: { token: Tokens.List }) {
  const items = token.items.map((item, i) => (
    <li key={i} dir="auto">
      {item.task && !item.tokens.some((t) => t.type === 'checkbox') && <Checkbox checked={item.checked} />}
      <Blocks tokens={item.tokens} />
    </li>
  ));
  return token.ordered ? <ol start={Number(token.start) || 1}>{items}</ol> : <ul>{items}</ul>;
}

function Table({ token }: { token: Tokens.Table }) {
  return (
    <div class="scroll" tabIndex={0} role="group" aria-label="table">
      <table>
        <thead><tr>{token.header.map((c, i) => <th key={i} scope="col" class={side(token.align[i])} dir="auto">{inline(c.tokens)}</th>)}</tr></thead>
        <tbody>{token.rows.map((row, i) => <tr key={i}>{row.map((c, j) => <td key={j} class={side(token.align[j])} dir="auto">{inline(c.tokens)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

// prose is a text as it is shown outside of code.
const prose = (text: string) => shown(text, true);

const side = (align: string | null) => (align === 'right' ? 'number' : undefined);

function inline(tokens: Token[] | undefined): ComponentChildren {
  return (tokens ?? []).map((t, i) => <Fragment key={i}>{span(t)}</Fragment>);
}

function span(t: Token): ComponentChildren {
  switch (t.type) {
    case 'strong':
      return <strong>{inline((t as Tokens.Strong).tokens)}</strong>;
    case 'em':
      return <em>{inline((t as Tokens.Em).tokens)}</em>;
    case 'del':
      return <del>{inline((t as Tokens.Del).tokens)}</del>;
    case 'codespan':
      return <code>{shown(decode((t as Tokens.Codespan).text))}</code>;
    case 'br':
      return <br />;
    case 'link':
      return <Link href={(t as Tokens.Link).href}>{inline((t as Tokens.Link).tokens)}</Link>;
    case 'image':
      return <Image href={(t as Tokens.Image).href} text={(t as Tokens.Image).text} />;
    case 'html':
      return prose(t.raw);
    case 'escape':
      return prose((t as Tokens.Escape).text);
    case 'checkbox':
      return <Checkbox checked={(t as Tokens.Checkbox).checked} />;
  }
  if ('tokens' in t && t.tokens) return inline(t.tokens);
  return prose(decode('text' in t ? String(t.text) : t.raw));
}

// Image shows a picture of the thread itself. Any other is a link.
function Image({ href, text }: { href: string; text: string }) {
  const own = useContext(OwnFiles)(href);
  const source = own && picture(own);
  return source ? <img class="file" src={source} alt={coded(text || own.filename || 'image')} /> : <Link href={href}>{prose(text || 'image')}</Link>;
}

function Link({ href, children }: { href: string; children: ComponentChildren }) {
  if (!safe.test(href)) return <>{children}</>;
  return <a href={href} target="_blank" rel="noopener noreferrer" title={coded(href)}>{children}</a>;
}

const entities: Record<string, string> = { amp: '&', lt: '<', gt: '>', quot: '"', apos: "'", nbsp: '\u00a0', copy: '©', hellip: '…', mdash: '—', ndash: '–' };

// decode reads the entities that Markdown has: the lexer leaves them to a browser.
function decode(text: string): string {
  return text.replace(/&(#x[0-9a-f]{1,6}|#\d{1,7}|\w{1,8});/gi, (all, name: string) => {
    if (name[0] !== '#') return entities[name.toLowerCase()] ?? all;
    const n = name[1].toLowerCase() === 'x' ? parseInt(name.slice(2), 16) : Number(name.slice(1));
    return n > 0 && n <= 0x10ffff ? String.fromCodePoint(n) : all;
  });
}
