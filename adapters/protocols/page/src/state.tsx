// The state of a thread and a run, at any revision of it, and what each step changed.
import { useEffect, useMemo, useState } from 'preact/hooks';
import { offered, query, segment } from './api';
import { recordOf } from './follow';
import { forkAfter } from './fork';
import { moment } from './format';
import { Icon } from './icons';
import { Diff, JSONView } from './json';
import { apply, lines, type Operation } from './patch';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { go, route } from './route';
import type { JSONValue } from './types';

interface Patch {
  revision: number;
  run_id: string;
  step?: number;
  at?: number;
  patch: Operation[];
  new_run?: boolean;
  reverts?: boolean;
  superseded?: boolean;
}

interface Point {
  revision: number;
  run: string;
  step: number;
  at: number;
  value: JSONValue;
  patch?: Operation[];
}

const empty = { thread: {}, run: {} };

// history folds the patches of a thread to the values that its state has had.
async function history(thread: string): Promise<Point[] | undefined> {
  const points: Point[] = [{ revision: 0, run: '', step: 0, at: 0, value: empty }];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { patches: Patch[]; next_cursor: string | null } | undefined = await offered(`v1/threads/${segment(thread)}/state/patches${query({ limit: 200, cursor })}`);
    if (!page) return undefined;
    for (const p of page.patches) {
      const before = points.at(-1)!.value as { thread: JSONValue; run: JSONValue };
      points.push({ revision: p.revision, run: p.run_id, step: p.step ?? 0, at: p.at ?? 0, value: apply(p.new_run ? { ...before, run: {} } : before, p.patch), patch: p.patch });
    }
    cursor = page.next_cursor;
  }
  return points;
}

// ofRecord are the revisions that the run's own events tell, for a host without a history.
const ofRecord = (r: RunRecord): Point[] => r.revisions.map((v) => ({ revision: v.revision, run: r.id, step: v.step, at: v.at, value: v.value, patch: v.patch }));

type Side = 'change' | 'value' | 'patches';

export function StateView({ record }: { record: RunRecord }) {
  const [points, setPoints] = useState<Point[] | undefined>(undefined);
  const [problem, setProblem] = useState<unknown>(undefined);
  const [at, setAt] = useState(-1); // -1: what the address selects, else the newest
  const [side, setSide] = useState<Side>('change');
  record.version.value;
  const { step } = route.value;
  const seen = record.revisions.at(-1)?.revision ?? 0;
  useEffect(() => {
    let late = false;
    history(record.thread).then((p) => !late && setPoints(p ?? []), (e) => !late && setProblem(e));
    return () => void (late = true);
  }, [record.thread, seen, record.status]);
  useEffect(() => setAt(-1), [record, step]);
  const all = points?.length ? points : ofRecord(record);
  if (problem !== undefined) return <Problem error={problem} />;
  if (all.length < 2 && Object.keys((all[0]?.value as typeof empty | undefined)?.thread ?? {}).length === 0) return <p class="empty">No plugin has stored state on this thread yet.</p>;
  const index = at < 0 || at >= all.length ? selected(all, record, step) : at;
  const here = all[index];
  return (
    <div class="pane-body">
      <div class="field">
        <div class="between">
          <label for="revision">{here.step ? `After step ${here.step}${here.run === record.id ? '' : ' of another run'}` : 'Before the first step'}</label>
          <span class="meta">revision {here.revision} of {all.at(-1)!.revision}</span>
        </div>
        <input id="revision" type="range" min={0} max={all.length - 1} value={index} aria-valuetext={`revision ${here.revision}`} onInput={(e) => setAt(Number(e.currentTarget.value))} />
        {here.at > 0 && <span class="meta">{moment(here.at)}</span>}
      </div>
      <Sides all={all} index={index} side={side} setSide={setSide} />
      <button type="button" class="wide" disabled={!here.run} onClick={() => void forkAfter(recordOf(here.run), here.step).then((id) => go({ thread: id }), setProblem)}><Icon name="fork" /> Fork from here</button>
    </div>
  );
}

// selected is the newest value of the run up to a step, else the newest of all.
function selected(all: Point[], record: RunRecord, step: number): number {
  const i = all.findLastIndex((p) => p.run < record.id || (p.run === record.id && (!step || p.step <= step)));
  return i < 0 ? all.length - 1 : i;
}

function Sides({ all, index, side, setSide }: { all: Point[]; index: number; side: Side; setSide: (s: Side) => void }) {
  const here = all[index];
  const before = index > 0 ? all[index - 1].value : empty;
  const changes = useMemo(() => countOf(lines(before, here.value).map((l) => l.sign)), [before, here]);
  return (
    <>
      <div class="between">
        <div class="seg" role="group" aria-label="Show">
          {(['change', 'value', 'patches'] as const).map((s) => <button key={s} type="button" aria-pressed={s === side} onClick={() => setSide(s)}>{s[0].toUpperCase() + s.slice(1)}</button>)}
        </div>
        <span class="meta">{changes}</span>
      </div>
      {side === 'change' && <Diff before={before} after={here.value} label="change" />}
      {side === 'value' && <JSONView value={here.value} name="state.json" label="state" />}
      {side === 'patches' && (here.patch?.length ? <JSONView value={here.patch as unknown as JSONValue} name="patch.json" label="patch" /> : <p class="meta">No patch.</p>)}
    </>
  );
}

const countOf = (signs: string[]) => [[signs.filter((s) => s === '+').length, 'line added', 'lines added'], [signs.filter((s) => s === '-').length, 'removed', 'removed']]
  .filter(([n]) => n).map(([n, one, more]) => `${n} ${n === 1 ? one : more}`).join(', ');
