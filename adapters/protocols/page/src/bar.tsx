// The bar below the chat: the state of its run, with tokens, cost and time.
import { useEffect } from 'preact/hooks';
import { figuresOf } from './figures';
import { recordOf } from './follow';
import { duration, money, took } from './format';
import { Icon, Status } from './icons';
import { Copy } from './json';
import { agents, detail } from './lists';
import { useNow } from './now';
import type { RunRecord } from './record';
import { readRun } from './stored';

// RunBar shows the state and the figures of a run in one line.
export function RunBar({ run }: { run: string }) {
  const record = run ? recordOf(run) : undefined;
  record?.version.value;
  const complete = !!record?.complete;
  const said = record?.steps.filter((s) => s.said).length ?? 0;
  useEffect(() => {
    if (record) void readRun(record); // what no event tells, such as its cost
  }, [record, complete, said]);
  const now = useNow(!!record && record.status === 'running' && !complete);
  if (!record || (!record.events.length && !record.run.value)) return <div class="run-bar" role="group" aria-label="Run in short"><span class="meta">No run</span></div>;
  const f = figuresOf(record, now);
  const ended = f.ended > 0;
  const agent = record.agent || record.run.value?.agent_id || '';
  return (
    <div class="run-bar" role="group" aria-label="Run in short">
      <Status name={f.state} />
      <Steps now={f.steps} ended={ended} agent={agent} />
      <span>{(f.usage.input ?? 0).toLocaleString()} in{f.usage.cache_read ? <span class="meta wide-only"> ({f.usage.cache_read.toLocaleString()} cached)</span> : null}</span>
      <span>{(f.usage.output ?? 0).toLocaleString()} out</span>
      {typeof f.cost === 'number' && <span>{money(f.cost)}</span>}
      <WindowShare record={record} agent={agent} />
      {f.began > 0 && <span>{took(f.worked)}</span>}
      {f.waited >= 1000 && <span class="meta wide-only">and {duration(f.waited)} of waiting</span>}
      <span class="grow" />
      <a class="bar-link" href={`#/runs/${run}`}><Icon name="list" /> Run</a>
      <span class="wide-only"><Copy text={location.href} label="Copy a link to this view"><Icon name="link" /> Link</Copy></span>
    </div>
  );
}

function Steps({ now, ended, agent }: { now: number; ended: boolean; agent: string }) {
  const spec = agent && !ended ? detail(agent).value : undefined;
  const most = spec && 'max_rounds' in spec ? spec.max_rounds : undefined;
  if (ended) return <span class="wide-only">{now} {now === 1 ? 'step' : 'steps'}</span>;
  return <span class="wide-only">step {now}{most ? ` of ${most}` : ''}</span>;
}

// WindowShare is the part of the window that the last request of the model took.
function WindowShare({ record, agent }: { record: RunRecord; agent: string }) {
  record.version.value;
  const whole = agents.value?.find((a) => a.id === agent)?.context_window;
  const last = record.steps.findLast((s) => s.usage)?.usage;
  if (!whole || !last) return null;
  const part = Math.min(1, (last.input ?? 0) / whole);
  const percent = part > 0 && part < 0.01 ? '< 1' : `${Math.round(part * 100)}`;
  return (
    <span class="bar-window wide-only">
      <span class="meter" aria-hidden="true"><span style={{ width: `${part * 100}%` }} /></span> window {percent} %
    </span>
  );
}
