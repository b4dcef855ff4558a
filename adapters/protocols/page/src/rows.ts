// The rows of the waterfall: a run, its steps, and the calls of the model and of tools in
// them, each with the pieces that its bar is made of.
import { duration } from './format';
import type { RunRecord } from './record';
import { figuresOf } from './figures';
import { Scale, type Span } from './scale';
import { type TimedCall, type TimedStep, isFailure, timedOf, union, waitsOf, within } from './timed';

// Piece is a part of a bar. What it is of says how it looks.
export interface Piece {
  of: 'run' | 'queue' | 'asked' | 'said' | 'tool' | 'failed' | 'void' | 'wait';
  from: number;
  to: number;
}

export interface Row {
  key: string;
  level: number;
  kind: 'run' | 'step' | 'model' | 'tool' | 'child' | 'ask';
  name: string;
  note: string; // behind the name
  state: string;
  tries: number; // of a model
  resumed: boolean;
  record: RunRecord;
  step: number;
  call: string; // as in the address
  pieces: Piece[];
  cuts: number[]; // where a host ended
  from: number;
  to: number;
  took: number;
  waited: number; // for a person, a client or a time
  failed: boolean;
}

export interface Waterfall {
  rows: Row[];
  scale: Scale;
}

const bad = ['failed', 'error', 'invalid', 'denied', 'blocked', 'unknown', 'timeout'];

// deepest is how many runs inside of each other are shown.
const deepest = 3;

interface Options {
  truly: boolean; // waits are not folded
  nested: boolean; // the steps of child runs are shown
  childOf: (id: string, over: boolean) => RunRecord;
}

// waterfallOf lists the rows of a run, and the scale on which they are drawn.
export function waterfallOf(r: RunRecord, now: number, o: Options): Waterfall {
  const rows: Row[] = [];
  const work: Span[] = [];
  const waits: Span[] = [];
  const until = endOf(r, now);
  rowsOf(r, until, o, 1, '', rows, work, waits);
  if (!work.length && rows.length) work.push([rows[0].from, rows[0].to]);
  const scale = new Scale(work, waits, o.truly);
  const folds = union(waits);
  const idle = minus(folds, union(work));
  for (const row of rows) {
    if (row.kind !== 'run' && row.kind !== 'step' && row.kind !== 'child') continue;
    row.pieces = split(row.from, row.to, idle);
    if (row.kind === 'step') row.took = Math.max(0, row.to - row.from - within(folds, row.from, row.to));
  }
  return { rows, scale };
}

// endOf is until when a run that is not over is drawn.
const endOf = (r: RunRecord, now: number) => (r.run.value?.status === 'done' && r.run.value.finished_at) || r.ended || now;

// split draws a span; the waits in it, in which nothing works, are hatched.
function split(from: number, to: number, idle: Span[]): Piece[] {
  const pieces: Piece[] = [];
  let at = from;
  for (const [a, b] of idle) {
    if (b <= at || a >= to) continue;
    if (a > at) pieces.push({ of: 'run', from: at, to: a });
    pieces.push({ of: 'wait', from: Math.max(a, at), to: Math.min(b, to) });
    at = Math.min(b, to);
  }
  if (at < to || !pieces.length) pieces.push({ of: 'run', from: at, to });
  return pieces;
}

// minus is what of spans the others leave; both are in order and do not overlap.
function minus(spans: Span[], others: Span[]): Span[] {
  const left: Span[] = [];
  for (const [a, b] of spans) {
    let at = a;
    for (const [c, d] of others) {
      if (d <= at || c >= b) continue;
      if (c > at) left.push([at, c]);
      at = Math.max(at, d);
    }
    if (at < b) left.push([at, b]);
  }
  return left;
}

function rowsOf(r: RunRecord, now: number, o: Options, level: number, prefix: string, rows: Row[], work: Span[], waits: Span[]): void {
  const steps = timedOf(r);
  waits.push(...waitsOf(steps, now));
  const figures = figuresOf(r, now, steps);
  if (level === 1) {
    rows.push({
      ...plain, key: 'run', level, kind: 'run', name: r.agent || 'run', state: figures.state, record: r, from: figures.began || now, to: now, took: figures.worked, waited: figures.waited,
      failed: figures.state === 'error',
    });
  }
  steps.forEach((s, i) => stepRows(r, steps, i, figures.state, now, o, level, prefix, rows, work, waits));
}

const plain = { note: '', tries: 1, resumed: false, step: 0, call: '', pieces: [], cuts: [], took: 0, waited: 0, failed: false };

function stepRows(r: RunRecord, steps: TimedStep[], i: number, state: string, now: number, o: Options, level: number, prefix: string, rows: Row[], work: Span[], waits: Span[]): void {
  const s = steps[i];
  const over = outcomeOf(s, state);
  const last = s.ended || (over === 'running' || over === 'waiting' ? now : Math.max(s.said, s.began, ...s.calls.map((c) => c.ended || c.asked), ...s.attempts.map((a) => a.ended_at ?? 0)));
  const from = Math.min(s.began - s.queued, ...s.breaks.map((b) => b.from));
  if (level === 1) {
    rows.push({ ...plain, key: `${s.step}`, level: 2, kind: 'step', name: `Step ${s.step}`, state: over, record: r, step: s.step, from, to: Math.max(from, last), failed: bad.includes(over) });
  }
  const at = level === 1 ? 3 : level;
  rows.push(modelRow(r, s, over, last, at, prefix, work));
  for (const c of s.calls) callRows(r, s, c, last, o, at, prefix, rows, work, waits);
}

// outcomeOf is the state of a step.
function outcomeOf(s: TimedStep, run: string): string {
  if (s.cut && run !== 'running' && run !== 'created') return run;
  if (s.failed) return 'failed';
  if (s.ended) return 'done';
  return run === 'created' ? 'running' : run;
}

function modelRow(r: RunRecord, s: TimedStep, over: string, last: number, level: number, prefix: string, work: Span[]): Row {
  const end = s.said || last;
  const pieces: Piece[] = [];
  const start = Math.min(s.began, ...s.breaks.map((b) => b.from));
  if (s.queued) pieces.push({ of: 'queue', from: start - s.queued, to: start });
  for (const b of s.breaks) {
    pieces.push({ of: 'void', from: b.from, to: b.lost });
    if (b.to > b.lost) pieces.push({ of: 'queue', from: b.lost, to: b.to });
  }
  const began = Math.max(s.began, ...s.breaks.map((b) => b.to));
  const attempts = s.attempts.filter((a) => (a.ended_at ?? end) >= began || !s.breaks.length);
  attempts.forEach((a, i) => {
    const from = a.began_at || began;
    const to = Math.max(from, a.ended_at ?? end);
    if (isFailure(a)) return void pieces.push({ of: 'failed', from, to });
    if (i < attempts.length - 1) return;
    const first = a.first_at || s.first;
    if (first > from && first < to) pieces.push({ of: 'asked', from, to: first }, { of: 'said', from: first, to });
    else pieces.push({ of: s.said || s.first ? 'said' : 'asked', from, to });
  });
  if (!attempts.length) pieces.push({ of: 'said', from: began, to: Math.max(began, end) });
  for (const p of pieces) work.push([p.from, p.to]);
  const from = Math.min(...pieces.map((p) => p.from));
  const to = Math.max(...pieces.map((p) => p.to));
  const call = prefix ? `${prefix}~${s.step}~model` : 'model';
  const done = s.said > 0 && !s.failed && !s.cut;
  return {
    ...plain, key: `${prefix} ${s.step} model`, level, kind: 'model', name: s.model || 'model', state: s.failed ? 'failed' : done ? 'done' : over, tries: attempts.length + s.more,
    resumed: s.breaks.some((b) => b.moved), record: r, step: s.step, call, pieces, cuts: s.breaks.filter((b) => b.moved).map((b) => b.lost), from, to, took: Math.max(0, to - from),
    failed: !!s.failed || s.attempts.some(isFailure) || (!done && bad.includes(over)),
  };
}

function callRows(r: RunRecord, s: TimedStep, c: TimedCall, last: number, o: Options, level: number, prefix: string, rows: Row[], work: Span[], waits: Span[]): void {
  const pieces: Piece[] = [];
  const child = c.child;
  const failed = bad.includes(c.status);
  const end = c.ended || Math.max(last, c.asked);
  if (c.kind === 'child' || child) pieces.push({ of: 'run', from: c.asked || c.ready || c.began, to: end });
  else {
    if (c.asked) pieces.push({ of: 'wait', from: c.asked, to: c.answered || end });
    if (c.began || !c.asked) {
      const from = c.began || s.said || s.began;
      if (from < end || !c.asked) pieces.push({ of: failed ? 'failed' : 'tool', from, to: Math.max(from, end) });
    }
  }
  const from = Math.min(...pieces.map((p) => p.from));
  const to = Math.max(...pieces.map((p) => p.to));
  const waited = c.asked && !child && c.kind !== 'child' ? (c.answered || end) - c.asked : 0;
  const kind = child || c.kind === 'child' ? 'child' : c.kind === 'client' ? 'ask' : 'tool';
  rows.push({
    ...plain, key: `${prefix} ${s.step} ${c.id}`, level, kind, name: child?.agent_id ?? c.name, note: kind === 'child' ? 'child run' : c.kind === 'timer' ? 'timer' : '', state: c.status === 'waiting' && kind === 'child' ? 'running' : c.status,
    record: r, step: s.step, call: prefix ? `${prefix}~${s.step}~${c.id}` : c.id, pieces, from, to, took: waited && !c.took && (kind === 'ask' || !c.answered) ? waited : Math.max(0, to - from - waited), waited, failed,
  });
  if (child && o.nested && level < deepest + 2) {
    const of = o.childOf(child.run_id, c.ended > 0);
    if (of.stored.value.length || of.steps.length) {
      rowsOf(of, Math.min(end, endOf(of, end)), o, level + 1, child.run_id, rows, work, waits);
      return;
    }
  }
  for (const p of pieces) if (p.of !== 'wait') work.push([p.from, p.to]);
}

// waitText says how long a row waited, and for whom.
export function waitText(row: Row): string {
  const decider = row.kind === 'ask' ? 'an answer' : row.note === 'timer' ? 'a time' : 'a person';
  return row.state === 'waiting' ? `waits for ${decider}, since ${duration(row.waited)}` : `waited ${duration(row.waited)} for ${decider}`;
}
