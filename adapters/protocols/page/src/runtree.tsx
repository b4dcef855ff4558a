// The runs that a run has started, and what they ask, on the page of the run.
import { useEffect, useState } from 'preact/hooks';
import { get, query } from './api';
import { answered, follow } from './follow';
import { count } from './format';
import { Shown } from './hidden';
import { Icon, Status, outcome } from './icons';
import type { RunRecord } from './record';
import { readRun, readSteps } from './stored';
import { TicketCard, ofTicket } from './ticket';
import type { Run } from './types';

const pause = 2000; // between two looks at runs that are open
const deepest = 5; // levels of child runs

// useChildren reads the runs that a run has started, oldest first, until they are over.
function useChildren(run: string, over: boolean): Run[] {
  const [runs, setRuns] = useState<Run[]>([]);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      let open = !over;
      try {
        if (!document.hidden) {
          const page = await get<{ runs: Run[] }>(`v1/runs${query({ parent: run, limit: 50 })}`);
          if (gone) return;
          open ||= page.runs.some((r) => r.status !== 'done');
          setRuns(page.runs.reverse());
        }
      } catch {
        open = true; // the next look brings it
      }
      if (open && !gone) timer = window.setTimeout(() => void look(), pause);
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [run, over]);
  return runs;
}

// RunTree lists the child runs of a run with theirs. Of a run without calls there are none.
export function RunTree({ record }: { record: RunRecord }) {
  const run = record.run.value;
  return run?.calls ? <Root key={record.id} record={record} over={run.status === 'done' || record.complete} /> : null;
}

function Root({ record, over }: { record: RunRecord; over: boolean }) {
  const runs = useChildren(record.id, over);
  const states = runs.map((r) => r.status).join();
  useEffect(() => {
    if (!states || over) return;
    void readRun(record); // what one of them does may be what the run waits for
    void follow(record);
  }, [states]);
  if (!runs.length) return null;
  return (
    <div class="part family" role="group" aria-label="Child runs">
      <h3 class="label">Child runs</h3>
      <Branch runs={runs} level={1} />
    </div>
  );
}

const Branch = ({ runs, level }: { runs: Run[]; level: number }) => <ul>{runs.map((r) => <Leaf key={r.run_id} run={r} level={level} />)}</ul>;

function Leaf({ run, level }: { run: Run; level: number }) {
  return (
    <li>
      <p class="family-line">
        <a class="bar-link" href={`#/runs/${run.run_id}`}><Icon name="fork" /><bdi><Shown text={run.agent_id} /></bdi></a>
        <Status name={outcome(run.status, run.termination)} />
        <span class="grow" />
        <span class="meta">{count(run.steps, 'step')}</span>
      </p>
      {run.asked && <p class="meta family-text" dir="auto"><Shown text={run.asked} prose /></p>}
      {level < deepest && !!run.calls && <Below run={run} level={level + 1} />}
    </li>
  );
}

function Below({ run, level }: { run: Run; level: number }) {
  const runs = useChildren(run.run_id, run.status === 'done');
  return runs.length ? <Branch runs={runs} level={level} /> : null;
}

// ChildrenAsk shows what the child runs of a run ask: by its stream, else as it was read.
export function ChildrenAsk({ record }: { record: RunRecord }) {
  const run = record.run.value;
  const tickets = record.complete || run?.status === 'done' ? [] : record.children.runs.size ? record.children.tickets : run?.children?.tickets ?? [];
  if (!tickets.length) return null;
  const decided = async (suspension: string) => {
    await answered(record, suspension);
    void readRun(record);
    void readSteps(record);
  };
  return (
    <section class="padded asks" aria-label="Child runs ask">
      {tickets.map((t) => <TicketCard key={`${t.run_id} ${t.suspension_id}`} waiting={ofTicket(record.id, t, t.agent_id)} onDecided={(s) => void decided(s)} after={() => {}} />)}
    </section>
  );
}
