// The changes that a person makes to the arguments of calls that wait. They stay while
// something else is looked at.
import { signal } from '@preact/signals';
import { cleaned } from './characters';
import { readOne } from './form';
import type { JSONValue, Schema } from './types';

export type Arguments = { [name: string]: JSONValue };

export interface Edit {
  given: Arguments; // as they are now
  texts: Record<string, string>; // of the fields that are open, as they were typed
  wrong: Record<string, string>;
}

const edits = signal<Record<string, Edit>>({});

// editOf is what became of arguments, by the ticket's suspension.
export const editOf = (id: string, said: Arguments): Edit => edits.value[id] ?? { given: said, texts: {}, wrong: {} };

// fieldID is the id of an argument's field in the document.
export const fieldID = (id: string, name: string) => `${id}.${JSON.stringify(name).replace(/\s/g, '_')}`;

const same = (a: JSONValue | undefined, b: JSONValue | undefined) => JSON.stringify(a) === JSON.stringify(b);

// changedIn are the names whose value is another one than the model's.
export const changedIn = (said: Arguments, e: Edit) => [...new Set([...Object.keys(said), ...Object.keys(e.given)])].filter((name) => !same(said[name], e.given[name]));

function put(id: string, e: Edit): void {
  edits.value = { ...edits.value, [id]: e };
}

const without = <T>(of: Record<string, T>, name: string) => Object.fromEntries(Object.entries(of).filter(([other]) => other !== name));

// textOf is a value as it is typed.
export const textOf = (s: Schema, v: JSONValue | undefined) => (v === undefined ? '' : typeof v === 'string' && !s.enum ? v : JSON.stringify(v, null, Array.isArray(v) || (v && typeof v === 'object') ? 2 : 0));

// open opens the field of an argument.
export function open(id: string, said: Arguments, name: string, s: Schema): void {
  const e = editOf(id, said);
  put(id, { ...e, texts: { ...e.texts, [name]: textOf(s, e.given[name]) } });
}

// type takes what was typed into a field.
export function type(id: string, said: Arguments, name: string, s: Schema, text: string): void {
  const e = editOf(id, said);
  const got = text === '' && (s.enum || !/^(string)?$/.test(String(s.type ?? ''))) ? undefined : readOne(s, text);
  const next = { ...e, texts: { ...e.texts, [name]: text }, wrong: without(e.wrong, name) };
  if (!got) put(id, { ...next, given: without(e.given, name) });
  else if ('value' in got) put(id, { ...next, given: { ...e.given, [name]: got.value } });
  else put(id, { ...next, wrong: { ...next.wrong, [name]: got.wrong[''] } });
}

// undo closes a field and gives the argument the model's value.
export function undo(id: string, said: Arguments, name: string): void {
  const e = editOf(id, said);
  const given = name in said ? { ...e.given, [name]: said[name] } : without(e.given, name);
  put(id, { given, texts: without(e.texts, name), wrong: without(e.wrong, name) });
}

// takeOut takes the hidden characters out of all arguments.
export function takeOut(id: string, said: Arguments): void {
  const e = editOf(id, said);
  const given = cleaned(e.given) as Arguments;
  put(id, { given, texts: Object.fromEntries(Object.keys(e.texts).map((name) => [name, textOf({}, given[name])])), wrong: {} });
}

// refuse keeps what the host says of arguments: by name, where it names some.
export function refuse(id: string, said: Arguments, detail: string): boolean {
  const e = editOf(id, said);
  const named = Object.keys({ ...said, ...e.given }).filter((name) => new RegExp(`["./]${name.replace(/\W/g, '\\$&')}(?=["./[\\s:]|$)`).test(detail));
  if (!named.length) return false;
  put(id, { ...e, wrong: { ...e.wrong, ...Object.fromEntries(named.map((name) => [name, detail])) } });
  return true;
}

// forget drops the changes of a call that is decided.
export function forget(id: string): void {
  edits.value = without(edits.value, id);
}
