// The state of a thread and a run, at any revision of it, and what each step changed.
import { useEffect, useState } from 'preact/hooks';
import { offered, query, segment } from './api';
import { count, moment } from './format';
import { Diff, JSONView } from './json';
import { apply, type Operation } from './patch';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { select } from './route';
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
      points.push({ revision: p.revision, run: p.run_id, step: p.step ?? 0, at: p.at ?? 0, value: apply(p.new_run ? { ...before, run: {} } : before, p.patch) });
    }
    cursor = page.next_cursor;
  }
  return points;
}

// ofRecord are the revisions that the run's own events tell, for a host without a history.
const ofRecord = (r: RunRecord): Point[] => r.revisions.map((v) => ({ revision: v.revision, run: r.id, step: v.step, at: v.at, value: v.value }));

export function StateView({ record }: { record: RunRecord }) {
  const [points, setPoints] = useState<Point[] | undefined>(undefined);
  const [problem, setProblem] = useState<unknown>(undefined);
  const [at, setAt] = useState(-1); // -1: the newest
  record.version.value;
  const seen = record.revisions.at(-1)?.revision ?? 0;
  useEffect(() => {
    let late = false;
    history(record.thread).then((p) => !late && setPoints(p ?? []), (e) => !late && setProblem(e));
    return () => void (late = true);
  }, [record.thread, seen, record.status]);
  const all = points?.length ? points : ofRecord(record);
  if (problem !== undefined) return <Problem error={problem} />;
  if (all.length < 2 && Object.keys((all[0]?.value as typeof empty | undefined)?.thread ?? {}).length === 0) return <p class="empty">No plugin has stored state on this thread yet.</p>;
  const index = at < 0 || at >= all.length ? all.length - 1 : at;
  const here = all[index];
  return (
    <div class="pane-body">
      <div class="field">
        <label for="revision">Revision {here.revision} <span class="meta">{index + 1} of {count(all.length, 'value')}</span></label>
        <input id="revision" type="range" min={0} max={all.length - 1} value={index} aria-valuetext={`revision ${here.revision}`} onInput={(e) => setAt(Number(e.currentTarget.value))} />
      </div>
      {here.step > 0 && (
        <p class="meta">
          <button type="button" class="small" onClick={() => select({ run: here.run, step: here.step, call: '' })}>Step {here.step}</button> {here.at > 0 && moment(here.at)}
        </p>
      )}
      {index > 0 && <><h2>Change</h2><Diff before={all[index - 1].value} after={here.value} label="change" /></>}
      <h2>Value</h2>
      <JSONView value={here.value} name="state.json" label="state" />
    </div>
  );
}
