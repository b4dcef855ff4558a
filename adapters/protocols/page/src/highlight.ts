// Code told apart by its kind: a tokenizer for the few languages that answers are full of.
// It works piece by piece, so that code that grows is read again only at its end.

export type Kind = '' | 'key' | 'text' | 'number' | 'note' | 'in' | 'out';

export interface Piece {
  kind: Kind;
  text: string;
}

interface Language {
  token: RegExp; // groups: a comment, a text of one line, a number, a word
  ends: Record<string, string>; // of what may have several lines, by how it starts
  escapes: string; // the starts of texts in which a backslash hides the end
  words: Set<string>;
  fold?: boolean; // case does not matter
}

const words = (text: string) => new Set(text.split(' '));

const number = String.raw`\b0[xX][\da-fA-F_]+\b|\b\d[\d_]*(?:\.\d+)?(?:[eE][+-]?\d+)?\b`;

const go: Language = {
  token: new RegExp(String.raw`(//.*)|("(?:[^"\\\n]|\\.)*"?|'(?:[^'\\\n]|\\.)*'?)|(${number})|([A-Za-z_]\w*)|/\*|${'`'}`, 'g'),
  ends: { '/*': '*/', '`': '`' },
  escapes: '',
  words: words('break case chan const continue default defer else fallthrough for func go goto if import interface map package range return select struct switch type var any bool byte error float64 int int64 nil rune string true false'),
};

const sql: Language = {
  token: new RegExp(String.raw`(--.*)|("(?:[^"\n])*"?)|(${number})|([A-Za-z_]\w*)|/\*|'`, 'g'),
  ends: { '/*': '*/', "'": "'" },
  escapes: '',
  fold: true,
  words: words(
    'select from where and or not in is null as on join left right inner outer full cross group by order having limit offset union all distinct insert into values update set delete create table index view drop alter add primary key foreign references default case when then else end exists between like asc desc with returning count sum min max avg true false',
  ),
};

const shell: Language = {
  token: new RegExp(String.raw`((?<=^|[\s;(])#.*)|(\$\{[^}\n]*\}|\$\w+)|(${number})|([A-Za-z_][\w-]*)|'|"`, 'gm'),
  ends: { "'": "'", '"': '"' },
  escapes: '"',
  words: words('if then else elif fi for in do done case esac while until function return export local set unset cd exit echo'),
};

const json: Language = {
  token: /()("(?:[^"\\\n]|\\.)*")|(-?\b\d+(?:\.\d+)?(?:[eE][+-]?\d+)?\b)|(\w+)/g,
  ends: {},
  escapes: '',
  words: new Set(),
};

const languages: Record<string, Language> = { json, jsonc: json, go, golang: go, sql, sh: shell, bash: shell, shell, zsh: shell, console: shell };

// known says whether a language is told apart.
export const known = (language: string) => language in languages || language === 'diff' || language === 'patch';

// highlight splits code into pieces. state is what the code before it left open, which it
// returns for the code after it: the end of a comment or of a text of several lines.
export function highlight(text: string, language: string, state = ''): [Piece[], string] {
  if (language === 'diff' || language === 'patch') return [changes(text), ''];
  const l = Object.hasOwn(languages, language) ? languages[language] : undefined;
  if (!l) return [[{ kind: '', text }], ''];
  const pieces: Piece[] = [];
  const add = (kind: Kind, text: string) => push(pieces, kind, text);
  let at = 0;
  if (state) {
    at = after(text, 0, state.slice(1), state[0] === '\\');
    add(state.slice(1) === '*/' ? 'note' : 'text', text.slice(0, at));
    if (!closed(text, at, state)) return [pieces, state];
  }
  l.token.lastIndex = at;
  for (let m = l.token.exec(text); m; m = l.token.exec(text)) {
    add('', text.slice(at, m.index));
    at = m.index + m[0].length;
    const end = l.ends[m[0]];
    if (end) {
      const open = (l.escapes.includes(m[0]) ? '\\' : ' ') + end;
      at = after(text, at, end, open[0] === '\\');
      add(end === '*/' ? 'note' : 'text', text.slice(m.index, at));
      if (at - m.index < m[0].length + end.length || !closed(text, at, open)) return [pieces, open];
      l.token.lastIndex = at;
    } else add(kindOf(l, m, text, at), m[0]);
  }
  add('', text.slice(at));
  return [pieces, ''];
}

function kindOf(l: Language, m: RegExpExecArray, text: string, at: number): Kind {
  if (m[1]) return 'note';
  if (m[2]) return l === json && /^\s*:/.test(text.slice(at, at + 20)) ? 'key' : 'text';
  if (m[3]) return 'number';
  if (l === json) return /^(true|false|null)$/.test(m[0]) ? 'number' : '';
  return l.words.has(l.fold ? m[0].toLowerCase() : m[0]) ? 'key' : '';
}

// after is the place behind the next end, or the end of the text.
function after(text: string, from: number, end: string, escapes: boolean): number {
  for (let at = from; ; at++) {
    at = text.indexOf(end, at);
    if (at < 0) return text.length;
    let slashes = 0;
    while (escapes && text[at - 1 - slashes] === '\\') slashes++;
    if (slashes % 2 === 0) return at + end.length;
  }
}

// closed says whether what a state has open ends at a place.
function closed(text: string, at: number, state: string): boolean {
  const end = state.slice(1);
  if (!text.slice(0, at).endsWith(end)) return false;
  let slashes = 0;
  while (state[0] === '\\' && text[at - end.length - 1 - slashes] === '\\') slashes++;
  return slashes % 2 === 0;
}

// push adds a text to the last piece, if that is of its kind.
function push(pieces: Piece[], kind: Kind, text: string): void {
  const last = pieces.at(-1);
  if (last?.kind === kind) last.text += text;
  else if (text) pieces.push({ kind, text });
}

// changes are the lines of a diff by what they do.
function changes(text: string): Piece[] {
  const pieces: Piece[] = [];
  for (const line of text.match(/[^\n]*\n|[^\n]+$/g) ?? []) {
    const kind: Kind = /^(\+\+\+|---|diff |index )/.test(line) ? 'note' : line[0] === '+' ? 'in' : line[0] === '-' ? 'out' : line.startsWith('@@') ? 'key' : '';
    push(pieces, kind, line);
  }
  return pieces;
}

const size = 2000; // characters of a part, to the end of its line

// parts cuts code at the ends of lines, so that each part is read on its own.
export function parts(text: string): string[] {
  const all: string[] = [];
  for (let at = 0; at < text.length; ) {
    const end = at + size >= text.length ? 0 : text.indexOf('\n', at + size) + 1;
    all.push(text.slice(at, end || text.length));
    at = end || text.length;
  }
  return all;
}
