// The arguments of a call that waits: a row each, which can be edited. The model's value
// stays beside a change.
import { useRef } from 'preact/hooks';
import { changedIn, editOf, fieldID, open, textOf, type, undo, type Arguments } from './edits';
import { useEscape } from './escape';
import { kind } from './form';
import { Shown, coded, hiddenIn } from './hidden';
import { Icon } from './icons';
import { Coloured } from './json';
import type { JSONValue, Schema } from './types';

interface Properties {
  id: string; // of the suspension
  tool: string;
  said: Arguments;
  schema?: Schema;
  fixed?: boolean; // nothing can be edited any more
}

// ArgumentRows shows what a call is given, by the schema of its tool.
export function ArgumentRows({ id, tool, said, schema, fixed }: Properties) {
  const e = editOf(id, said);
  const properties = schema?.properties ?? {};
  const shown = [...new Set([...Object.keys(properties).filter((name) => name in said || name in e.given || name in e.texts), ...Object.keys(said), ...Object.keys(e.given)])];
  const editable = shown.find((name) => !(name in e.texts) && !changedIn(said, e).includes(name)); // by the key e
  const absent = fixed ? [] : Object.keys(properties).filter((name) => !shown.includes(name));
  if (!shown.length && !absent.length) return <p class="meta">It is called without arguments.</p>;
  return (
    <div class="given" role="group" aria-label={`Arguments of ${coded(tool)}`}>
      {shown.map((name) => <Row key={name} id={id} said={said} name={name} schema={properties[name] ?? typeOf(said[name])} first={name === editable} fixed={fixed} changed={changedIn(said, e).includes(name)} />)}
      {absent.length > 0 && (
        <div class="given-more">
          <span class="meta">Not given:</span>
          {absent.map((name) => <button key={name} type="button" class="small" onClick={() => open(id, said, name, properties[name])}><Icon name="plus" /> <Shown text={name} /></button>)}
        </div>
      )}
    </div>
  );
}

// typeOf is the schema of an argument of which the tool says nothing.
const typeOf = (v: JSONValue | undefined): Schema => (typeof v === 'string' ? { type: 'string' } : typeof v === 'number' ? { type: 'number' } : typeof v === 'boolean' ? { type: 'boolean' } : {});

interface RowProperties {
  id: string;
  said: Arguments;
  name: string;
  schema: Schema;
  first: boolean;
  fixed?: boolean;
  changed: boolean;
}

function Row({ id, said, name, schema, first, fixed, changed }: RowProperties) {
  const e = editOf(id, said);
  const field = fieldID(id, name);
  const opened = name in e.texts && !fixed;
  const button = useRef<HTMLButtonElement>(null);
  const close = () => {
    undo(id, said, name);
    requestAnimationFrame(() => button.current?.focus());
  };
  useEscape(opened, close);
  const edit = () => {
    open(id, said, name, schema);
    requestAnimationFrame(() => document.getElementById(field)?.focus());
  };
  const about = e.wrong[name] ?? (opened ? schema.description : undefined);
  return (
    <div class="given-row">
      {opened ? <label class="given-name" for={field}><Shown text={name} /></label> : <span class="given-name" title={schema.description && coded(schema.description)}><Shown text={name} /></span>}
      <div class="given-value">
        {opened ? <Field id={field} said={said} name={name} suspension={id} schema={schema} about={about ? `${field}.about` : undefined} /> : <Value value={e.given[name]} />}
        {about && <p id={`${field}.about`} class={e.wrong[name] ? 'wrong' : 'meta'}><Shown text={about} prose /></p>}
        {changed && <p class="meta">{name in said ? <>the model said <del><Short value={said[name]} /></del></> : 'the model gave none'}, your change <ins><Short value={e.given[name]} /></ins></p>}
      </div>
      {!fixed && (
        <span class="given-edit">
          {opened || changed ? (
            <button ref={button} type="button" class="small" aria-label={`Undo ${coded(name)}`} onClick={close}><Icon name="again" /> Undo</button>
          ) : (
            <button ref={button} type="button" class="small" data-key={first ? 'e' : undefined} aria-label={`Edit ${coded(name)}`} onClick={edit}><Icon name="edit" /> Edit</button>
          )}
        </span>
      )}
    </div>
  );
}

// Value shows a value whole.
function Value({ value }: { value: JSONValue | undefined }) {
  if (value === undefined) return <span class="meta">none</span>;
  const text = typeof value === 'string' ? value : JSON.stringify(value, null, 2);
  const long = text.length > 400 || text.split('\n').length > 8;
  const inside = value && typeof value === 'object' ? <Coloured text={text} /> : <Shown text={text} />;
  if (text === '') return <span class="meta">empty</span>;
  return long ? <pre tabIndex={0} role="group" aria-label="value">{inside}</pre> : <div class="mono" dir={typeof value === 'string' ? 'auto' : undefined}>{inside}</div>;
}

// Short shows a value in a line.
function Short({ value }: { value: JSONValue | undefined }) {
  const text = value === undefined ? 'none' : typeof value === 'string' ? value : JSON.stringify(value);
  return <Shown text={text.length > 120 ? `${text.slice(0, 120).replace(/[\ud800-\udbff]$/, '')}…` : text} />;
}

interface FieldProperties {
  id: string;
  suspension: string;
  said: Arguments;
  name: string;
  schema: Schema;
  about?: string;
}

function Field({ id, suspension, said, name, schema, about }: FieldProperties) {
  const e = editOf(suspension, said);
  const text = e.texts[name] ?? '';
  const shared = {
    id, value: text, 'aria-invalid': e.wrong[name] ? true : undefined, 'aria-describedby': about, autocomplete: 'off', spellcheck: false,
    onInput: (event: Event) => type(suspension, said, name, schema, (event.currentTarget as HTMLInputElement).value),
  };
  const choices: JSONValue[] | undefined = schema.enum ?? (kind(schema) === 'boolean' ? [true, false] : undefined);
  if (choices) {
    return (
      <select {...shared}>
        {!choices.some((c) => textOf(schema, c) === text) && <option value={text}>{text || 'none'}</option>}
        {choices.map((c) => <option key={JSON.stringify(c)} value={textOf(schema, c)}>{coded(typeof c === 'string' ? c : JSON.stringify(c))}</option>)}
      </select>
    );
  }
  const number = kind(schema) === 'number' || kind(schema) === 'integer';
  const onward = (event: KeyboardEvent) => {
    if (event.key !== 'Enter' || event.isComposing) return;
    event.preventDefault(); // nothing is sent by it: the button says what is
    (event.currentTarget as HTMLElement).closest('.ticket')?.querySelector<HTMLElement>('[data-key="a"]')?.focus();
  };
  return (
    <>
      {number ? <input {...shared} inputMode="decimal" onKeyDown={onward} /> : <textarea {...shared} rows={text.includes('\n') ? 4 : 1} dir="auto" onKeyDown={kind(schema) === 'string' && !text.includes('\n') ? (event) => !event.shiftKey && onward(event) : undefined} />}
      {hiddenIn(text) > 0 && <p class="meta">as codes: <span class="mono"><Shown text={text} /></span></p>}
    </>
  );
}
