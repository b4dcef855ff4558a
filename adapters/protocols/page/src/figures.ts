// The figures of a run: how it stands, how long it worked and waited, what it took. Of a run
// that is done they are those of its record, so that they are the same whenever they are
// looked at; until then they are counted from what is known.
import { outcome } from './icons';
import type { RunRecord } from './record';
import { type TimedStep, timedOf, union, waitsOf, within } from './timed';
import type { Termination, Usage } from './types';

export interface Figures {
  state: string; // a name that Status shows
  termination?: Termination;
  began: number; // unix milliseconds; 0: not known
  ended: number; // 0: not yet
  worked: number; // milliseconds
  waited: number; // for people and clients
  steps: number;
  cut: boolean; // a step was cut short by the end, and does not count
  calls: number;
  usage: Usage;
  cost?: number | null; // dollars; null: a price is not known
  takeovers: number;
}

// figuresOf reads the figures of a run as they are now.
export function figuresOf(r: RunRecord, now: number, steps: TimedStep[] = timedOf(r)): Figures {
  const run = r.run.value;
  const done = run?.status === 'done';
  const status = done || !r.events.length ? run?.status ?? r.status : r.status;
  const termination = done ? run.termination : r.termination;
  const began = run?.started_at || r.began || steps[0]?.began || 0;
  const ended = (done && run.finished_at) || r.ended;
  const until = ended || (status === 'waiting' ? Math.max(now, began) : now);
  const whole = began ? Math.max(0, until - began) : 0;
  const waits = union(waitsOf(steps, until));
  const waited = (done ? run.waited_ms : undefined) ?? within(waits, began, until);
  const idle = status === 'waiting' && !waits.length ? whole - within([[began, lastOf(steps)]], began, until) : 0;
  const calls = steps.reduce((n, s) => n + s.calls.length, 0);
  return {
    state: outcome(status, termination), termination, began, ended, waited, worked: (done ? run.worked_ms : undefined) ?? Math.max(0, whole - waited - idle),
    cut: !!termination && steps.some((s) => s.cut), steps: done ? run.steps : Math.max(steps.length, run?.steps ?? 0), calls: (done ? run.calls : undefined) ?? Math.max(calls, run?.calls ?? 0),
    usage: (done || !r.events.length ? run?.usage : undefined) ?? r.usage, cost: run?.cost_usd, takeovers: run?.takeovers ?? steps.flatMap((s) => s.breaks.filter((b) => b.moved)).length,
  };
}

const lastOf = (steps: TimedStep[]) => Math.max(0, ...steps.flatMap((s) => [s.began, s.said, s.ended, ...s.calls.flatMap((c) => [c.asked, c.ended])]));
