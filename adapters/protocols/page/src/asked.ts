// What a ticket asks: its words, and the form of its answer.
import type { JSONValue, Schema, Ticket } from './types';

// Question is a ticket and who asks.
export type Question = Pick<Ticket, 'tool_name' | 'arguments' | 'message' | 'kind' | 'resume_mode' | 'response_schema'>;

// asksYou reports whether a ticket waits for a person or a client: not for a child run or a time.
export const asksYou = (t: Pick<Ticket, 'kind'>) => t.kind !== 'child' && t.kind !== 'timer';

// isQuestion reports whether the answer is the call's result, so that no tool runs.
export const isQuestion = (t: Question) => t.kind === 'client' || (t.kind !== 'timer' && t.resume_mode === 'use_decision_as_tool_result');

const fields = (v: JSONValue | undefined) => (v && typeof v === 'object' && !Array.isArray(v) ? v : {});

// wordsOf is the question in words.
export function wordsOf(t: Question): string {
  const { question } = fields(t.arguments);
  return t.message || (typeof question === 'string' && question) || `${t.tool_name} waits for its result.`;
}

const lists = ['options', 'choices'];

// given is what a tool is given beyond the words of its question.
export function given(t: Question): { [name: string]: JSONValue } | undefined {
  const rest = Object.entries(fields(t.arguments)).filter(([name]) => !(name === 'question' && fields(t.arguments).question === wordsOf(t)) && !lists.includes(name));
  return rest.length ? Object.fromEntries(rest) : undefined;
}

export interface Choice {
  name: string;
  value: JSONValue;
}

// Form is how an answer is given: by a choice, in words, or by the fields of a schema.
export interface Form {
  choices: Choice[];
  words: boolean; // an answer in words fits, too
  fields?: Schema; // the answer has several
  read: (text: string) => { value: JSONValue } | { wrong: string };
  wrap: (value: JSONValue) => JSONValue; // the payload of a choice
}

const same = (value: JSONValue) => value;
const kind = (s: Schema): string => (Array.isArray(s.type) ? s.type.find((t) => t !== 'null') : s.type) ?? '';
const named = (value: JSONValue): Choice => ({ name: typeof value === 'string' ? value : JSON.stringify(value), value });

// formOf is the form that a ticket's answer has.
export function formOf(t: Question): Form {
  const schema = t.response_schema ?? {};
  const all = Object.entries(schema.properties ?? {});
  if (kind(schema) === 'object') {
    if (all.length !== 1 || kind(all[0][1]) === 'object' || kind(all[0][1]) === 'array') return { choices: [], words: false, fields: schema, read: () => ({ wrong: '' }), wrap: same };
    const [name, only] = all[0];
    const one = plain(only, t);
    const wrap = (value: JSONValue) => ({ [name]: value });
    return { ...one, wrap, read: (text) => { const got = one.read(text); return 'value' in got ? { value: wrap(got.value) } : got; } };
  }
  return plain(schema, t);
}

function plain(s: Schema, t: Question): Form {
  if (s.enum) return { choices: s.enum.map(named), words: false, read: () => ({ wrong: 'Choose one.' }), wrap: same };
  switch (kind(s)) {
    case 'boolean':
      return { choices: [{ name: 'Yes', value: true }, { name: 'No', value: false }], words: false, read: () => ({ wrong: 'Choose one.' }), wrap: same };
    case 'number':
    case 'integer':
      return { choices: [], words: true, read: number, wrap: same };
    case 'array':
      return { choices: [], words: false, fields: s, read: () => ({ wrong: '' }), wrap: same };
  }
  const from = fields(t.arguments);
  const offered = lists.map((l) => from[l]).find((l) => Array.isArray(l)) as JSONValue[] | undefined;
  const choices = (offered ?? []).filter((o) => typeof o === 'string' || typeof o === 'number').slice(0, 20).map((o) => named(String(o)));
  return { choices, words: true, read: kind(s) === 'string' ? (text) => ({ value: text }) : either, wrap: same };
}

function number(text: string): { value: JSONValue } | { wrong: string } {
  const value = Number(text);
  return text.trim() && Number.isFinite(value) ? { value } : { wrong: 'The answer must be a number.' };
}

// either takes an object or a list as what it is, where the host takes anything.
function either(text: string): { value: JSONValue } {
  try {
    if (/^\s*[[{]/.test(text)) return { value: JSON.parse(text) };
  } catch {
    // words that begin with a bracket
  }
  return { value: text };
}
