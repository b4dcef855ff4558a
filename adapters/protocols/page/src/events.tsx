// The events of a run, as the host's native stream has them.
import { useMemo, useRef, useState } from 'preact/hooks';
import { count, moment, number, took } from './format';
import { Icon } from './icons';
import { JSONView, download, oneLine } from './json';
import type { RunRecord } from './record';
import { route } from './route';
import type { RunEvent } from './types';
import { useWindow } from './windowed';

interface Line {
  number: number; // from 1
  event: RunEvent;
  id: string;
  parts: number; // of a text, that are one line
}

const parts = ['text_delta', 'reasoning_delta', 'tool_call_delta', 'tool_call_stream_delta'];

// linesOf joins the pieces of a text to one line.
function linesOf(record: RunRecord, o: { step: number; fold: boolean; failed: boolean; filter: string }): Line[] {
  const lines: Line[] = [];
  record.events.forEach(({ id, event }, i) => {
    if (o.step && event.step !== o.step) return;
    if (o.failed && !isFailure(event)) return;
    if (o.filter && !event.event_type.includes(o.filter) && !JSON.stringify(event).includes(o.filter)) return;
    const last = lines.at(-1);
    if (o.fold && last && last.event.event_type === event.event_type && last.event.step === event.step && last.event.id === event.id && parts.includes(event.event_type)) last.parts++;
    else lines.push({ number: i + 1, event, id, parts: 1 });
  });
  return lines;
}

const isFailure = (e: RunEvent) => ['error', 'inference_retry', 'inference_failed', 'step_restarted', 'model_switch', 'tool_call_cancel'].includes(e.event_type) || !!e.is_error || e.termination?.type === 'error';

export function EventsView({ record }: { record: RunRecord }) {
  const version = record.version.value;
  const { step } = route.value;
  const [ofStep, setOfStep] = useState(true);
  const [fold, setFold] = useState(true);
  const [failed, setFailed] = useState(false);
  const [filter, setFilter] = useState('');
  const [open, setOpen] = useState<number | undefined>(undefined);
  const lines = useMemo(() => linesOf(record, { step: ofStep ? step : 0, fold, failed, filter }), [version, record, ofStep, step, fold, failed, filter]);
  const list = useRef<HTMLOListElement>(null);
  const { from, to, above, below } = useWindow(list, lines.length, 28);
  const chosen = lines.find((l) => l.number === open);
  const chip = (on: boolean, set: (on: boolean) => void, word: string) => (
    <button type="button" class="chip" aria-pressed={on} onClick={() => set(!on)}>{on && <Icon name="check" />}{word}</button>
  );
  return (
    <div class="pane-body">
      <div class="pane-tools">
        {step > 0 && chip(ofStep, setOfStep, `step ${step} only`)}
        {chip(fold, setFold, 'fold text parts')}
        {chip(failed, setFailed, 'failed only')}
        <input type="search" aria-label="Filter events" placeholder="Filter" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <span class="grow" />
        <button type="button" class="small" onClick={() => save(record)}><Icon name="down" /> Download NDJSON</button>
      </div>
      <p class="meta" role="status">{count(lines.length, 'line')} of {count(record.events.length, 'event')}</p>
      <ol class="events" ref={list} aria-label="Events">
        {above > 0 && <li aria-hidden="true" style={{ height: `${above}px` }} />}
        {lines.slice(from, to).map((l) => (
          <li key={l.number}>
            <button type="button" class="ev" aria-expanded={open === l.number} onClick={() => setOpen(open === l.number ? undefined : l.number)}>
              <span class="number">{l.number}</span>
              <span class="number">{since(record, l)}</span>
              <code>{l.event.event_type}</code>
              <span class="cut">{l.parts > 1 ? `${l.parts} parts` : about(l.event)}</span>
            </button>
          </li>
        ))}
        {below > 0 && <li aria-hidden="true" style={{ height: `${below}px` }} />}
      </ol>
      {chosen && (
        <section class="event" aria-label={`Event ${chosen.number}`}>
          <div class="between"><h3>{chosen.event.event_type}</h3><button type="button" class="small" aria-label="Close" onClick={() => setOpen(undefined)}><Icon name="cross" /></button></div>
          {chosen.id && <p class="meta">id <code>{chosen.id}</code></p>}
          <JSONView value={chosen.event as never} label={chosen.event.event_type} />
        </section>
      )}
    </div>
  );
}

// since is the time from the start of the run, in seconds; after ten minutes as words, such as
// +12 min.
function since(record: RunRecord, { id, event: e }: Line): string {
  const at = e.time ? Date.parse(e.time) : 0;
  if (!at || !record.began || (!id && e.event_type.endsWith('_snapshot'))) return ''; // a snapshot has the time of reading
  const ms = at - record.began;
  return ms < 600_000 ? (ms / 1000).toFixed(2) : `+${took(ms)}`;
}

// about is what an event says in a few words.
function about(e: RunEvent): string {
  switch (e.event_type) {
    case 'run_start':
      return `${e.agent_id ?? ''} in ${e.thread_id ?? ''}`;
    case 'inference_complete':
      return [e.model, e.stop_reason, e.usage && `${number(e.usage.input ?? 0)} in, ${number(e.usage.output ?? 0)} out`].filter(Boolean).join(', ');
    case 'inference_retry':
    case 'inference_failed':
      return [e.reason, e.failed && `${count(e.failed, 'failure')}`, e.wait && `waits ${took(e.wait)}`, e.limit && `at most ${count(e.limit, 'token')}`].filter(Boolean).join(', ');
    case 'model_switch':
      return `${e.from ?? ''} to ${e.model ?? ''}, ${e.reason ?? ''}`;
    case 'tool_call_ready':
      return `${e.name ?? ''} ${oneLine(e.arguments, 80)}`;
    case 'tool_call_suspended':
      return e.ticket?.kind === 'timer' ? `${e.name ?? ''} waits until ${moment(e.ticket.wakes_at ?? 0)}` : `${e.name ?? ''} waits for a ${e.ticket?.kind ?? 'decision'}`;
    case 'tool_call_resumed':
      return `${e.name ?? ''} ${e.action ?? ''}`;
    case 'tool_call_done':
      return `${e.status ?? ''} ${oneLine(e.result, 80)}`;
    case 'run_finish':
      return [e.status, e.termination?.type, e.termination?.code].filter(Boolean).join(', ');
    case 'error':
      return `${e.code ?? ''} ${e.error ?? ''}`;
  }
  return oneLine(e.delta ?? e.name ?? e.patch ?? e.snapshot ?? e.content ?? '', 80);
}

// save downloads the events as they are here, one a line.
export const save = (record: RunRecord) => download(`${record.id}.ndjson`, record.events.map(({ id, event }) => JSON.stringify(id ? { id, ...event } : event)).join('\n') + '\n');
