// Markdown as elements. Nothing is ever parsed as HTML: what the lexer calls HTML is shown
// as the text that it is, and what it calls an image is a link, so that no text can make
// the browser send anything anywhere.
import { Fragment, type ComponentChildren } from 'preact';
import { useMemo } from 'preact/hooks';
import { Lexer, type Token, type Tokens } from 'marked';
import { coded, shown } from './hidden';
import { Code } from './json';

const safe = /^(https?:|mailto:)/i;

// Markdown shows a text. While it grows only its open end is lexed anew: what lies before
// the last blank line outside of a fence stays.
export function Markdown({ text, open }: { text: string; open?: boolean }) {
  const cut = open ? settled(text) : 0;
  const head = useMemo(() => <Blocks tokens={lex(text.slice(0, cut))} />, [text.slice(0, cut)]);
  const tail = useMemo(() => <Blocks tokens={lex(text.slice(cut))} />, [text.slice(cut)]);
  return (
    <div class="markdown">
      {head}
      {tail}
    </div>
  );
}

const lex = (text: string) => new Lexer({ gfm: true, breaks: true }).lex(text);

// settled is how much of a growing text will not change any more.
function settled(text: string): number {
  let end = 0;
  let fenced = false;
  let at = 0;
  for (const line of text.split('\n')) {
    if (/^ {0,3}(```|~~~)/.test(line)) fenced = !fenced;
    at += line.length + 1;
    if (!fenced && line === '' && at < text.length && !/^(\s|[-*+>|]|\d+[.)])/.test(text.slice(at))) end = at;
  }
  return end;
}

function Blocks({ tokens }: { tokens: Token[] }) {
  return <>{tokens.map((t, i) => <Block key={i} token={t} />)}</>;
}

function Block({ token }: { token: Token }) {
  switch (token.type) {
    case 'heading': {
      const Heading = `h${Math.min(6, (token as Tokens.Heading).depth + 1)}` as 'h3';
      return <Heading>{inline((token as Tokens.Heading).tokens)}</Heading>;
    }
    case 'paragraph':
      return <p>{inline((token as Tokens.Paragraph).tokens)}</p>;
    case 'code':
      return <Code text={(token as Tokens.Code).text} language={(token as Tokens.Code).lang} />;
    case 'blockquote':
      return <blockquote><Blocks tokens={(token as Tokens.Blockquote).tokens} /></blockquote>;
    case 'list':
      return <List token={token as Tokens.List} />;
    case 'table':
      return <Table token={token as Tokens.Table} />;
    case 'hr':
      return <hr />;
    case 'html':
      return <p class="plain">{prose(token.raw.trimEnd())}</p>;
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
    <li key={i}>
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
        <thead><tr>{token.header.map((c, i) => <th key={i} scope="col">{inline(c.tokens)}</th>)}</tr></thead>
        <tbody>{token.rows.map((row, i) => <tr key={i}>{row.map((c, j) => <td key={j}>{inline(c.tokens)}</td>)}</tr>)}</tbody>
      </table>
    </div>
  );
}

// prose is a text as it is shown outside of code.
const prose = (text: string) => shown(text, true);

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
      return <Link href={(t as Tokens.Image).href}>{prose((t as Tokens.Image).text || 'image')}</Link>;
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
