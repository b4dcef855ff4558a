// Characters that cannot be seen, or that change how others are shown. A text that hides
// some of them reads as another one, so they are shown as their codes.
import type { JSONValue } from './types';

// Hidden is one such character, with the number of its repetitions.
export interface Hidden {
  code: string; // such as U+202E
  name: string;
  times: number;
}

// A line break, also as two characters, and what may be hidden: controls, formats, what
// fonts ignore, halves of pairs, separators, and letters without ink.
const suspect = /\r\n|[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u2028\u2029\u2800\p{Cf}\p{Cs}\p{Default_Ignorable_Code_Point}]/u;
const suspects = new RegExp(suspect.source, 'gu');

const names: Record<number, string> = {
  0x00: 'null', 0x07: 'bell', 0x08: 'backspace', 0x0d: 'carriage return', 0x1b: 'escape', 0x7f: 'delete', 0x85: 'next line',
  0xad: 'soft hyphen', 0x34f: 'grapheme joiner', 0x61c: 'Arabic letter mark', 0x115f: 'filler', 0x1160: 'filler', 0x180e: 'vowel separator',
  0x200b: 'no width', 0x200c: 'non-joiner', 0x200d: 'joiner', 0x200e: 'left-to-right mark', 0x200f: 'right-to-left mark',
  0x2028: 'line separator', 0x2029: 'paragraph separator', 0x202a: 'left-to-right embedding', 0x202b: 'right-to-left embedding',
  0x202c: 'end of direction', 0x202d: 'left-to-right', 0x202e: 'right-to-left', 0x2060: 'word joiner', 0x2066: 'left-to-right isolate',
  0x2067: 'right-to-left isolate', 0x2068: 'first strong isolate', 0x2069: 'end of isolate', 0x2800: 'blank', 0x3164: 'filler',
  0xfeff: 'byte order mark', 0xffa0: 'filler', 0xe0001: 'language tag', 0xe007f: 'end of tag',
};

function nameOf(c: number): string {
  if (names[c]) return names[c];
  if (c < 0xa0) return 'control';
  if (c >= 0xd800 && c <= 0xdfff) return 'half a character';
  if ((c >= 0xfe00 && c <= 0xfe0f) || (c >= 0xe0100 && c <= 0xe01ef) || (c >= 0x180b && c <= 0x180f)) return 'variation';
  if (c >= 0xe0020 && c < 0xe007f) return `tag ${c === 0xe0020 ? 'space' : String.fromCharCode(c - 0xe0000)}`;
  return 'hidden';
}

const codeOf = (c: number) => `U+${c.toString(16).toUpperCase().padStart(4, '0')}`;

// Scripts whose words need joiners.
const joins = /[\p{Script=Arabic}\p{Script=Syriac}\p{Script=Thaana}\p{Script=Nko}\p{Script=Mongolian}\p{Script=Devanagari}\p{Script=Bengali}\p{Script=Gurmukhi}\p{Script=Gujarati}\p{Script=Oriya}\p{Script=Tamil}\p{Script=Telugu}\p{Script=Kannada}\p{Script=Malayalam}\p{Script=Sinhala}\p{Script=Khmer}\p{Script=Myanmar}\p{Script=Tibetan}]$/u;
const pictureBefore = /\p{Extended_Pictographic}[\ufe0e\ufe0f\u{1f3fb}-\u{1f3ff}]?$/u;
const pictureAfter = /^\p{Extended_Pictographic}/u;
const flag = /^\u{1f3f4}\u{e0067}\u{e0062}(?:\u{e0065}\u{e006e}\u{e0067}|\u{e0073}\u{e0063}\u{e0074}|\u{e0077}\u{e006c}\u{e0073})\u{e007f}/u;

// plain reports whether a suspect at a place of a text hides nothing: it chooses the form
// of a picture, or, in prose, it joins what belongs together.
function plain(text: string, at: number, c: string, prose: boolean): boolean {
  if (c === '\r\n') return true;
  const before = text.slice(Math.max(0, at - 4), at);
  const after = text.slice(at + c.length, at + c.length + 4);
  if (c === '\ufe0f' || c === '\ufe0e') return /\p{Extended_Pictographic}[\u{1f3fb}-\u{1f3ff}]?$/u.test(before) || (/[0-9#*]$/.test(before) && after[0] === '\u20e3');
  if (!prose) return false;
  const n = c.codePointAt(0)!;
  if (c === '\u200d') return joins.test(before) || (pictureBefore.test(before) && pictureAfter.test(after));
  if (c === '\u200c') return joins.test(before);
  if (n >= 0x180b && n <= 0x180f) return /\p{Script=Mongolian}$/u.test(before);
  if (n >= 0xe0100 && n <= 0xe01ef) return /\p{Script=Han}$/u.test(before);
  if (n >= 0xe0020 && n <= 0xe007f) {
    const from = text.lastIndexOf('\u{1f3f4}', at);
    const found = from >= 0 && at - from < 14 ? flag.exec(text.slice(from, from + 14)) : null;
    return !!found && at < from + found[0].length;
  }
  return /[\u0600-\u0605\u06dd\u070f\u08e2\u0890\u0891]/.test(c); // formats that are seen
}

// split cuts a text into what is shown as it is and what is hidden in it. In prose the
// joiners of scripts and pictures stay what they are.
export function split(text: string, prose = false): (string | Hidden)[] {
  if (!suspect.test(text)) return [text];
  const parts: (string | Hidden)[] = [];
  let at = 0;
  for (const m of text.matchAll(suspects)) {
    if (plain(text, m.index, m[0], prose)) continue;
    const c = m[0].codePointAt(0)!;
    const last = parts.at(-1);
    if (m.index > at) parts.push(text.slice(at, m.index));
    else if (typeof last === 'object' && last.code === codeOf(c)) {
      last.times++;
      at = m.index + m[0].length;
      continue;
    }
    parts.push({ code: codeOf(c), name: nameOf(c), times: 1 });
    at = m.index + m[0].length;
  }
  if (at < text.length || !parts.length) parts.push(text.slice(at));
  return parts;
}

export const label = (h: Hidden) => `${h.code} ${h.name}${h.times > 1 ? ` ×${h.times}` : ''}`;

// coded is a text with its hidden characters as codes, for places that take only text.
export const coded = (text: string, prose = false) => split(text, prose).map((p) => (typeof p === 'string' ? p : `[${label(p)}]`)).join('');

// hiddenIn counts the hidden characters of a value, in its keys too.
export function hiddenIn(value: JSONValue | undefined): number {
  if (typeof value === 'string') return split(value).reduce((n, p) => n + (typeof p === 'string' ? 0 : p.times), 0);
  if (Array.isArray(value)) return value.reduce<number>((n, v) => n + hiddenIn(v), 0);
  if (value && typeof value === 'object') return Object.entries(value).reduce((n, [key, v]) => n + hiddenIn(key) + hiddenIn(v), 0);
  return 0;
}

const clean = (text: string) => split(text).filter((p) => typeof p === 'string').join('');

// cleaned is a value without its hidden characters.
export function cleaned(value: JSONValue): JSONValue {
  if (typeof value === 'string') return clean(value);
  if (Array.isArray(value)) return value.map(cleaned);
  if (value && typeof value === 'object') return Object.fromEntries(Object.entries(value).map(([key, v]) => [clean(key), cleaned(v)]));
  return value;
}

// escaped is JSON in which hidden characters are escapes: the same value, in sight.
export const escaped = (json: string) =>
  json.replace(suspects, (c, at: number) => (plain(json, at, c, false) ? c : Array.from({ length: c.length }, (_, i) => `\\u${c.charCodeAt(i).toString(16).padStart(4, '0')}`).join('')));
