// A run as a waterfall: a row for each step and call, with a bar on one scale.
import { useEffect, useMemo, useRef, useState } from 'preact/hooks';
import { follow, recordOf } from './follow';
import { took } from './format';
import { Icon, Status, wordOf, type IconName } from './icons';
import type { RunRecord } from './record';
import { route, select } from './route';
import { type Piece, type Row, type Waterfall, waitText, waterfallOf } from './rows';
import type { Scale } from './scale';
import { readRun, readSteps, settled } from './stored';
import { show, useWindow } from './windowed';

// useNow is the time, which goes on until a run is over: faster while it works than while
// it waits.
export function useNow(record: RunRecord): number {
  const over = record.complete || record.run.value?.status === 'done';
  const every = over ? 0 : record.status === 'waiting' ? 5000 : 500;
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    if (!every) return;
    const timer = setInterval(() => !document.hidden && setNow(Date.now()), every);
    return () => clearInterval(timer);
  }, [every]);
  return now;
}

// useWaterfall is the waterfall of a record; it is made again when something has changed.
export function useWaterfall(record: RunRecord, now: number, truly: boolean, nested: boolean): Waterfall {
  const [children, setChildren] = useState<RunRecord[]>([]);
  const version = record.version.value + children.reduce((n, c) => n + c.version.value, 0);
  const found: RunRecord[] = [];
  const made = useMemo(
    () => waterfallOf(record, now, { truly, nested, childOf: (id, over) => (found.push(recordOf(id)), childOf(id, over)) }),
    [record, version, now, truly, nested],
  );
  useEffect(() => {
    if (found.length && found.some((c) => !children.includes(c))) setChildren(found);
  });
  return made;
}

const between = 3000; // milliseconds from one look at what is stored of an open run to the next

// useRecord keeps a run up to date. What is stored of it is read when it is opened, after
// each step, and when it stops; its events are followed while it is open. Of a run that is
// done they are many and tell nothing more, so they are read only where they are shown.
export function useRecord(record: RunRecord | undefined, events: boolean): void {
  const ended = record ? record.steps.reduce((n, s) => n + (s.ended ? 1 : 0), 0) : 0;
  const stops = record && (record.complete || record.status === 'waiting') ? record.status : '';
  const last = useRef(0);
  useEffect(() => {
    if (!record) return;
    const read = () => {
      last.current = Date.now();
      void readSteps(record);
      void readRun(record).then((read) => !read && void follow(record));
    };
    const wait = stops ? 0 : Math.max(0, last.current + between - Date.now());
    if (!wait) return void read();
    const timer = setTimeout(read, wait);
    return () => clearTimeout(timer);
  }, [record, ended, stops]);
  const run = record?.run.value;
  const needed = events || (run !== undefined && !settled(record!));
  useEffect(() => {
    if (record && needed) void follow(record);
  }, [record, needed]);
}

const opened = new Set<string>();

// childOf is the record of a run that a call has started. What is stored of it is read once,
// and again when the call has its result.
function childOf(id: string, over: boolean): RunRecord {
  const child = recordOf(id);
  const key = `${id} ${over}`;
  if (!opened.has(key)) {
    opened.add(key);
    void readRun(child);
    void readSteps(child);
  }
  return child;
}

// rowsShown are the rows of a waterfall that its filters leave.
export function rowsShown(w: Waterfall, failedOnly: boolean, hideSteps: boolean): Row[] {
  let rows = w.rows;
  if (failedOnly) {
    const steps = new Set(rows.filter((r) => r.level > 2 && r.failed).map((r) => r.step));
    rows = rows.filter((r) => r.level === 1 || (r.level === 2 ? steps.has(r.step) || r.failed : r.failed || r.tries > 1 || r.resumed));
  }
  return hideSteps ? rows.filter((r) => r.level !== 2).map((r) => (r.level > 2 ? { ...r, level: r.level - 1 } : r)) : rows;
}

// isChosen says whether the address names a row. Without a step it names the run.
export function isChosen(r: Row): boolean {
  const { step, call } = route.value;
  if (r.level === 1) return !step;
  if (r.call.includes('~') || call.includes('~')) return r.call === call;
  return r.step === step && (r.kind === 'step' ? !call : r.call === call);
}

interface Properties {
  record: RunRecord;
  rows: Row[];
  scale: Scale;
  small?: boolean;
}

const rowHeight = () => (matchMedia('(max-width: 759px), (pointer: coarse)').matches ? 44 : 28);

export function WaterfallView({ record, rows, scale, small }: Properties) {
  const list = useRef<HTMLDivElement>(null);
  const height = rowHeight();
  const { from, to, above, below } = useWindow(list, rows.length, height);
  const current = Math.max(0, rows.findIndex(isChosen));
  const pick = (r: Row) => select({ ...(small && { run: record.id }), step: r.step, call: r.call });
  const focus = () => requestAnimationFrame(() => list.current?.querySelector<HTMLElement>('[tabindex="0"]')?.focus({ preventScroll: true }));
  const move = (to: number) => {
    if (!rows[to]) return;
    pick(rows[to]);
    show(list.current, to, height);
    focus();
  };
  const keys = (e: KeyboardEvent) => {
    const level = rows[current].level;
    const parent = rows.findLastIndex((r, j) => j < current && r.level < level);
    const to = { ArrowDown: current + 1, ArrowUp: current - 1, Home: 0, End: rows.length - 1, PageDown: Math.min(rows.length - 1, current + 10), PageUp: Math.max(0, current - 10), ArrowLeft: parent, ArrowRight: current + 1 }[e.key];
    if (to === undefined) return;
    e.preventDefault();
    move(to);
  };
  useEffect(() => show(list.current, current, height), [rows[current]?.key, current]);
  const ticks = scale.ticks(7);
  return (
    <div class={`wf${small ? ' small' : ''}`}>
      {!small && <div class="wf-grid" aria-hidden="true">{ticks.map((t) => <span key={t.left} style={{ left: t.left }} />)}</div>}
      <div role="treegrid" aria-label="Timeline" aria-rowcount={rows.length + (small ? 0 : 1)} aria-readonly="true" onKeyDown={keys}>
        {!small && (
          <div class="wf-row axis" role="row" aria-rowindex={1}>
            <span class="wf-name label" role="columnheader">Step or call</span>
            <span class="bars" role="columnheader"><span class="hidden">Time</span>{ticks.map((t) => <span key={t.left} class={`tick${t.late ? ' late' : ''}`} aria-hidden="true" style={{ left: t.left }}>{t.label}</span>)}</span>
            <span class="took label" role="columnheader">Took</span>
          </div>
        )}
        <div role="rowgroup" ref={list}>
          {above > 0 && <div role="presentation" style={{ height: `${above}px` }} />}
          {rows.slice(from, to).map((r, i) => (
            <RowView key={r.key} row={r} index={from + i + (small ? 1 : 2)} chosen={from + i === current} scale={scale} small={small} onPick={pick} />
          ))}
          {below > 0 && <div role="presentation" style={{ height: `${below}px` }} />}
        </div>
      </div>
    </div>
  );
}

const signs: Partial<Record<Row['kind'], IconName>> = { model: 'model', tool: 'tool', child: 'fork', ask: 'ask' };
const quietStates = ['done', 'ok', 'set', 'natural_end', 'behavior_requested'];

function RowView({ row, index, chosen, scale, small, onPick }: { row: Row; index: number; chosen: boolean; scale: Scale; small?: boolean; onPick: (r: Row) => void }) {
  const sign = signs[row.kind];
  return (
    <div
      role="row" aria-level={row.level} aria-selected={chosen} aria-rowindex={index} tabIndex={chosen ? 0 : -1} class={`wf-row l${Math.min(row.level, 6)}`}
      data-row={small ? undefined : true} onClick={() => onPick(row)} onFocus={() => !chosen && onPick(row)}
    >
      <span class="wf-name" role="gridcell">
        {sign && <Icon name={sign} />}
        <span class="cut">{row.name}</span>
        {row.note && <span class="meta">{small ? row.note.split(' ')[0] : row.note}</span>}
        {row.resumed && <span class="status done"><Icon name="again" />resumed</span>}
        {row.tries > 1 && <span class="status waiting"><Icon name="again" />{row.tries} tries</span>}
        {row.level < 3 || quietStates.includes(row.state) ? <span class="hidden">{wordOf(row.state)}</span> : <Status name={row.state} quiet={small} />}
      </span>
      <span class="bars" role="gridcell">
        <Bars pieces={row.pieces} cuts={row.cuts} scale={scale} />
        {!small && row.waited > 0 && row.level > 2 && <Note row={row} scale={scale} />}
      </span>
      <span class="took" role="gridcell">{took(row.took)}</span>
    </div>
  );
}

// Note says behind a bar how long its call waited, or before it where that is at the right. Where
// neither side has room, it would hide the name.
function Note({ row, scale }: { row: Row; scale: Scale }) {
  const before = scale.at(row.to).part > 0.55;
  if (before && scale.at(row.from).part < 0.55) return null;
  return <span class={`wf-note${before ? ' before' : ''}`} style={{ left: scale.left(before ? row.from : row.to) }}>{waitText(row)}</span>;
}

function Bars({ pieces, cuts, scale }: { pieces: Piece[]; cuts: number[]; scale: Scale }) {
  return (
    <>
      {pieces.map((p, i) => <i key={i} class={`b-${p.of}`} aria-hidden="true" style={{ left: scale.left(p.from), width: scale.width(p.from, p.to) }} />)}
      {cuts.map((t) => <i key={t} class="b-cut" aria-hidden="true" style={{ left: scale.left(t) }} />)}
    </>
  );
}

// Legend says what the pieces of the bars are.
export function Legend() {
  return (
    <div class="legend">
      {([['queue', 'queue'], ['model', 'model, from the first token on'], ['tool', 'tool'], ['wait', 'wait for a person, folded'], ['failed', 'failed'], ['void', 'thrown away, host ended']] as const).map(([of, word]) => (
        <span key={of}><span class={`sample s-${of}`} aria-hidden="true"><i /><i /></span>{word}</span>
      ))}
    </div>
  );
}
