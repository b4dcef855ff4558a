// The run that a call has started, inside of the call: read when it is opened.
import { useEffect, useState } from 'preact/hooks';
import { Refused, get } from './api';
import { recordOf } from './follow';
import { count, duration, money } from './format';
import { Shown, coded } from './hidden';
import { Icon, Status, outcome } from './icons';
import { JSONView, oneLine } from './json';
import { Markdown } from './markdown';
import type { ShownCall } from './record';
import { readSteps } from './stored';
import type { Run, StepCall, StoredStep } from './types';

// childOf is the run that a call has started and waits for; undefined: none.
export function childOf(c: ShownCall, s: StepCall | undefined): string | undefined {
  if (s?.child) return s.child.run_id;
  if (c.ticket?.kind === 'child') return c.ticket.suspension_id;
  const r = c.result as { run_id?: unknown; agent_id?: unknown; steps?: unknown } | null | undefined;
  return r && typeof r === 'object' && typeof r.run_id === 'string' && typeof r.agent_id === 'string' && typeof r.steps === 'number' ? r.run_id : undefined;
}

const pause = 1000; // between two looks at a child that works

export function Child({ run, asked, over }: { run: string; asked: string; over: boolean }) {
  const [info, setInfo] = useState<Run | undefined>(undefined);
  const [problem, setProblem] = useState<unknown>(undefined);
  useEffect(() => {
    let timer = 0;
    let gone = false;
    const look = async () => {
      try {
        const got = await get<Run>(`v1/runs/${run}`);
        recordOf(run).take(got);
        await readSteps(recordOf(run));
        if (gone) return;
        setInfo(got);
        setProblem(undefined);
        if (got.status !== 'done') timer = window.setTimeout(() => void look(), pause);
      } catch (e) {
        if (!gone) setProblem(e);
      }
    };
    void look();
    return () => {
      gone = true;
      clearTimeout(timer);
    };
  }, [run, over]);
  const steps = recordOf(run).stored.value;
  return (
    <div class="nest">
      {info ? (
        <p class="meta">
          <Status name={outcome(info.status, info.termination)} />
          <span>
            Agent <bdi><Shown text={info.agent_id} /></bdi>, {count(info.steps, 'step')},{' '}
            {count((info.usage?.input ?? 0) + (info.usage?.output ?? 0), 'token')}{typeof info.cost_usd === 'number' && `, ${money(info.cost_usd)}`}
          </span>
        </p>
      ) : (
        <p class="meta">{problem === undefined ? 'Reading the child run…' : hidden(problem)}</p>
      )}
      {info && asked !== '{}' && <p class="meta" dir="auto">Asked: <Shown text={info.asked ?? asked} prose /></p>}
      {steps.map((s) => <ChildStep key={s.step} step={s} />)}
      <div class="actions"><a class="button" href={`#/runs/${run}`}><Icon name="list" /> Open run</a></div>
    </div>
  );
}

const hidden = (e: unknown) => (e instanceof Refused && (e.status === 403 || e.status === 404) ? 'This child run is not yours to read.' : 'The child run cannot be read now.');

function ChildStep({ step }: { step: StoredStep }) {
  return (
    <>
      {step.text && <Markdown text={step.text} />}
      {step.calls?.map((c) => (
        <details key={c.id} class="call">
          <summary>
            <span class="call-top">
              <Icon name="tool" />
              <strong class="call-name"><Shown text={c.name} /></strong>
              <span class="call-line" dir="auto"><Shown text={oneLine(c.arguments, 60)} /></span>
              <Status name={c.status === 'suspended' ? 'waiting' : c.status === 'new' || c.status === 'resuming' ? 'running' : c.status} />
              <span class="took">{c.began_at && c.ended_at ? duration(c.duration_ms ?? c.ended_at - c.began_at) : ''}</span>
            </span>
          </summary>
          <div class="call-in">
            <p class="label">Arguments</p>
            <JSONView value={c.arguments} label={`arguments of ${coded(c.name)}`} />
            {c.result !== undefined && <><p class="label">Result</p><JSONView value={c.result} label={`result of ${coded(c.name)}`} /></>}
          </div>
        </details>
      ))}
      {step.takeovers?.map((t, i) => (
        <p key={i} class="meta"><span class="status done"><Icon name="again" /> resumed</span> The host ended in step {step.step}. Another took over after {duration(t.began_at - t.lost_at)}.</p>
      ))}
      {step.failed && <p class="meta"><Status name="failed" /> <span dir="auto"><Shown text={step.failed.detail || step.failed.reason} /></span></p>}
    </>
  );
}
