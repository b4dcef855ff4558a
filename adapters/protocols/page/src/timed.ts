// The times of a run's steps: as the log has them where it was read, else as the events
// tell. So a run that is replayed shows the same as one that was watched. All times are unix
// milliseconds; 0: not known, or not yet.
import type { RunRecord, ShownCall, Step } from './record';
import type { Attempt, JSONValue, StepCall, StoredStep, Usage } from './types';

export interface TimedCall {
  id: string;
  name: string;
  status: string; // a name that Status shows
  began: number; // the tool started
  ended: number;
  took: number; // by the tool
  ready: number; // it could begin
  asked: number; // it began to wait for a decision
  answered: number;
  action: string; // of the decision
  reason: string;
  edited?: JSONValue; // arguments that a person put in place
  kind: 'person' | 'client' | 'child' | 'timer' | ''; // of the wait
  wakes: number; // it continues then without a decision
  woken: boolean; // by the clock
  child?: { run_id: string; thread_id: string; agent_id?: string };
  arguments?: JSONValue;
  text: string; // of the arguments, as they come
  result?: JSONValue;
  message?: string;
  output: string;
}

// Break is a time in which no worker had the step: its host had ended.
export interface Break {
  from: number; // the part that is thrown away began
  lost: number;
  to: number; // another worker began again
  moved: boolean; // false: the same worker began again
}

export interface TimedStep {
  step: number;
  message: string; // id of the turn
  queued: number; // milliseconds from due to claimed
  began: number;
  first: number; // the first token
  said: number;
  ended: number;
  open: boolean;
  cut: boolean; // the run ended in it
  model: string;
  stop: string;
  usage?: Usage;
  attempts: Attempt[]; // the failed ones, and at the end the one that counts
  more: number; // failed attempts of which only the number is known
  breaks: Break[];
  failed: string;
  detail: string;
  revision: number;
  text: string;
  reasoning: string;
  calls: TimedCall[];
}

// timedOf lists the steps of a run in their order.
export function timedOf(r: RunRecord): TimedStep[] {
  const stored = new Map(r.stored.value.map((s) => [s.step, s]));
  const all: TimedStep[] = [];
  let end = r.run.value?.started_at || r.began;
  const add = (e: Step | undefined, s: StoredStep | undefined) => {
    const t = timedStep(e, s, end);
    end = Math.max(end, t.ended, t.said);
    all.push(t);
  };
  for (const n of [...new Set([...stored.keys(), ...r.steps.map((s) => s.step)])].sort((a, b) => a - b)) add(r.stepOf(n), stored.get(n));
  return all;
}

function timedStep(e: Step | undefined, s: StoredStep | undefined, previous: number): TimedStep {
  const said = s?.said_at || e?.said || 0;
  // A replay tells the end of a step that was cut short as its start, too.
  const told = e?.began && (!s || s.began_at || e.began < said) ? e.began : 0;
  const began = s?.began_at || told || Math.min(previous || said, said) || e?.began || 0;
  const breaks = s?.takeovers?.length
    ? s.takeovers.map((t, i, all) => ({ from: t.claimed_at || (i ? all[i - 1].began_at : Math.min(e?.began || Infinity, s.attempts?.[0]?.began_at || Infinity, previous || t.lost_at, t.lost_at)), lost: t.lost_at, to: t.began_at, moved: true }))
    : (e?.voids ?? []).filter((v) => v.from && v.to).map((v) => ({ from: v.from, lost: v.lost, to: v.to, moved: v.moved }));
  const attempts = s?.attempts?.length ? s.attempts : e ? attemptsOf(e, began) : [];
  const known = attempts.filter(isFailure).length;
  const calls = (s?.calls ?? []).map((c, i) => timedCall(c, e?.calls.find((o) => o.id === c.id) ?? e?.calls[i], said));
  for (const c of e?.calls ?? []) if (!calls.some((o) => o.id === c.id)) calls.push(timedCall(undefined, c, said));
  return {
    step: s?.step ?? e!.step, message: s?.message_id ?? (said ? e?.id ?? '' : ''), queued: s?.queued_ms ?? 0, began,
    first: s?.first_at || attempts.at(-1)?.first_at || (e?.live ? e.first : 0), said, ended: (s && !s.open && s.ended_at) || e?.ended || 0, open: s ? !!s.open && !e?.ended : !e?.ended, cut: !!s?.cut,
    model: s?.model || e?.model || attempts.at(-1)?.model || '', stop: s?.stop_reason || e?.stop || '', usage: s?.usage ?? e?.usage, attempts,
    more: Math.max(0, (s?.retries ?? 0) - known), breaks, failed: s?.failed?.reason ?? e?.failed ?? '', detail: s?.failed?.detail ?? '', revision: s?.revision ?? 0,
    text: s?.text ?? textOf(e, 'text'), reasoning: s?.reasoning ?? textOf(e, 'reasoning'), calls,
  };
}

const textOf = (e: Step | undefined, type: string) => e?.blocks.filter((b) => b.type === type).map((b) => b.text).join('') ?? '';

// isFailure tells a call of the model that failed from one that was stopped with its run.
export const isFailure = (a: Attempt) => !!a.reason && a.reason !== 'cancelled';

// attemptsOf are the calls of the model as their failures tell them.
function attemptsOf(e: Step, began: number): Attempt[] {
  const all: Attempt[] = [];
  let from = began;
  for (const r of e.retries) {
    all.push({ began_at: from, ended_at: r.at, reason: r.reason, wait_ms: r.wait });
    from = r.at + r.wait;
  }
  const start = e.said && e.took && !e.failed ? Math.max(from, e.said - e.took) : from;
  all.push({ began_at: start, ended_at: e.said || undefined, first_at: e.live && e.first >= start ? e.first : undefined, model: e.model, ...(e.failed && { reason: e.failed }) });
  return all;
}

const running: Record<string, string> = { new: 'running', suspended: 'waiting', resuming: 'running', cancelling: 'running', done: 'running' };

function timedCall(s: StepCall | undefined, e: ShownCall | undefined, said: number): TimedCall {
  const over = s ? running[s.status] === undefined : false;
  const took = s?.duration_ms ?? e?.took ?? 0;
  const ended = s?.ended_at || e?.ended || 0;
  const asked = s?.asked_at || e?.asked || (s?.decision_id ? said : 0);
  const ran = s?.began_at || (ended && took ? ended - took : 0);
  const answered = s?.answered_at || (e?.resumed && e.resumed !== e.ended ? e.resumed : 0) || (asked && ran > asked ? ran : 0) || (asked ? ended : 0);
  const ready = e?.ready || said;
  return {
    id: s?.id ?? e!.id, name: s?.name ?? e!.name, status: over ? s!.status : e && e.status !== 'writing' ? e.status : s ? running[s.status] ?? s.status : e!.status,
    began: ran || answered || (asked ? 0 : ended || ready), ended, took, ready, asked, answered, action: s?.action ?? e?.answered ?? '', reason: s?.reason ?? '', edited: s?.edited,
    kind: asked || s?.child ? e?.ticket?.kind ?? (s?.child ? 'child' : s?.wakes_at ? 'timer' : s?.status === 'set' ? 'client' : 'person') : '', wakes: s?.wakes_at ?? e?.ticket?.wakes_at ?? 0, woken: s?.woken ?? !!e?.woken, child: s?.child, arguments: s?.arguments ?? e?.arguments, text: e?.text ?? '',
    result: s?.result ?? e?.result, message: s?.message ?? e?.message, output: e?.output ?? '',
  };
}

// waitsOf lists the waits of a run for people, clients and times; those that last end now.
export function waitsOf(steps: TimedStep[], now: number): [number, number][] {
  return steps.flatMap((s) => s.calls.filter((c) => c.asked && c.kind !== 'child').map((c): [number, number] => [c.asked, Math.max(c.asked, c.answered || now)]));
}

// union joins spans that overlap, in their order.
export function union(spans: [number, number][]): [number, number][] {
  const all: [number, number][] = [];
  for (const [a, b] of [...spans].sort((x, y) => x[0] - y[0])) {
    const last = all.at(-1);
    if (last && a <= last[1]) last[1] = Math.max(last[1], b);
    else all.push([a, b]);
  }
  return all;
}

// within is how much of spans, which do not overlap, lies between two moments.
export const within = (spans: [number, number][], from: number, to: number) => spans.reduce((sum, [a, b]) => sum + Math.max(0, Math.min(b, to) - Math.max(a, from)), 0);
