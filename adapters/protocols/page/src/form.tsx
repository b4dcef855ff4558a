// A form of a JSON Schema: fields for what is plain, JSON for the rest. What it makes is
// checked by the host; here only what is required and what is no JSON is said at once.
import { useId, useState } from 'preact/hooks';
import { Shown } from './hidden';
import type { JSONValue, Schema } from './types';

interface Properties {
  schema: Schema | undefined;
  verb?: string; // of its button; without one it is a part of another form
  busy?: boolean;
  onSubmit?: (value: JSONValue) => void;
  onChange?: (value: JSONValue) => void;
  initial?: JSONValue;
}

// kind is the type that a schema names.
export const kind = (s: Schema): string => (Array.isArray(s.type) ? s.type.find((t) => t !== 'null') : s.type) ?? '';
export const plain = (s: Schema) => s.enum !== undefined || ['string', 'number', 'integer', 'boolean'].includes(kind(s));

// SchemaForm asks for a value of a schema.
export function SchemaForm({ schema, verb, busy, onSubmit, onChange, initial }: Properties) {
  const fields = schema && kind(schema) === 'object' ? Object.entries(schema.properties ?? {}) : undefined;
  const required = new Set(schema?.required ?? []);
  const [texts, setTexts] = useState<Record<string, string>>(() => start(schema, fields, initial));
  const [wrong, setWrong] = useState<Record<string, string>>({});
  const read = (texts: Record<string, string>) => (fields ? readObject(fields, required, texts) : readOne(schema ?? {}, texts[''] ?? ''));
  const change = (name: string, text: string) => {
    const next = { ...texts, [name]: text };
    setTexts(next);
    setWrong({});
    const got = read(next);
    if (onChange && 'value' in got) onChange(got.value);
  };
  const submit = (e: Event) => {
    e.preventDefault();
    const got = read(texts);
    if ('value' in got) onSubmit?.(got.value);
    else setWrong(got.wrong);
  };
  return (
    <form class="schema" onSubmit={submit} noValidate>
      {(fields ?? [['', schema ?? {}] as [string, Schema]]).map(([name, s]) => (
        <Field key={name} name={name} schema={s} required={!fields || required.has(name)} text={texts[name] ?? ''} wrong={wrong[name]} onChange={(text) => change(name, text)} />
      ))}
      {fields?.length === 0 && <p class="meta">No arguments.</p>}
      {verb && (
        <div class="actions">
          <button type="submit" class="primary" disabled={busy}>{verb}</button>
        </div>
      )}
    </form>
  );
}

function start(schema: Schema | undefined, fields: [string, Schema][] | undefined, initial?: JSONValue): Record<string, string> {
  const write = (s: Schema, v: JSONValue | undefined) => (v === undefined ? '' : plain(s) && typeof v === 'string' ? v : JSON.stringify(v));
  if (!fields) return { '': write(schema ?? {}, initial ?? schema?.default) };
  const from = (initial && typeof initial === 'object' && !Array.isArray(initial) ? initial : {}) as Record<string, JSONValue>;
  return Object.fromEntries(fields.map(([name, s]) => [name, write(s, from[name] ?? s.default)]));
}

export type Got = { value: JSONValue } | { wrong: Record<string, string> };

function readObject(fields: [string, Schema][], required: Set<string>, texts: Record<string, string>): Got {
  const value: Record<string, JSONValue> = {};
  const wrong: Record<string, string> = {};
  for (const [name, s] of fields) {
    const text = texts[name] ?? '';
    if (text === '' && kind(s) !== 'string') {
      if (required.has(name)) wrong[name] = 'A value is required.';
      continue;
    }
    if (text === '' && !required.has(name)) continue;
    const got = readOne(s, text);
    if ('value' in got) value[name] = got.value;
    else wrong[name] = got.wrong[''];
  }
  return Object.keys(wrong).length ? { wrong } : { value };
}

// readOne reads what was typed as a value of a schema.
export function readOne(s: Schema, text: string): Got {
  if (kind(s) === 'string' && !s.enum) return { value: text };
  if (kind(s) === '' && !s.enum) {
    try {
      return { value: JSON.parse(text) };
    } catch {
      return { value: text }; // anything goes, so also what is no JSON
    }
  }
  try {
    const value = JSON.parse(text);
    if ((kind(s) === 'number' || kind(s) === 'integer') && typeof value !== 'number') return { wrong: { '': 'It must be a number.' } };
    return { value };
  } catch {
    return { wrong: { '': plain(s) ? 'It must be a number.' : 'This is not valid JSON.' } };
  }
}

interface FieldProperties {
  name: string;
  schema: Schema;
  required: boolean;
  text: string;
  wrong?: string;
  onChange: (text: string) => void;
}

function Field({ name, schema, required, text, wrong, onChange }: FieldProperties) {
  const id = useId();
  const of = kind(schema);
  const about = [schema.description, !plain(schema) && of ? `JSON, ${of}` : ''].filter(Boolean).join(' · ');
  const shared = {
    id, value: text, required, 'aria-invalid': wrong ? true : undefined, 'aria-describedby': wrong || about ? `${id}-about` : undefined,
    onInput: (e: Event) => onChange((e.currentTarget as HTMLInputElement).value),
  };
  return (
    <div class="field">
      <label for={id}>
        <Shown text={name || schema.title || 'Answer'} />
        {!required && <span class="meta"> optional</span>}
      </label>
      {schema.enum ? (
        <select {...shared}>
          <option value="">{required ? 'choose' : 'none'}</option>
          {schema.enum.map((v) => <option key={JSON.stringify(v)} value={JSON.stringify(v)}>{typeof v === 'string' ? v : JSON.stringify(v)}</option>)}
        </select>
      ) : of === 'boolean' ? (
        <select {...shared}>
          <option value="">{required ? 'choose' : 'none'}</option>
          <option value="true">yes</option>
          <option value="false">no</option>
        </select>
      ) : of === 'number' || of === 'integer' ? (
        <input {...shared} inputMode="decimal" />
      ) : (
        <textarea {...shared} rows={of === 'string' || of === '' ? 1 : 4} spellcheck={of === 'string'} />
      )}
      {(wrong || about) && <p id={`${id}-about`} class={wrong ? 'wrong' : 'meta'}><Shown text={wrong ?? about} prose /></p>}
    </div>
  );
}
