// What is known of one row of the waterfall: a run, a step, a call of the model or of a tool.
import { useState } from 'preact/hooks';
import { clock, count, moment, money, short, took, tokens } from './format';
import { figuresOf } from './figures';
import { forkBefore } from './fork';
import { Icon, Status } from './icons';
import { Copy, JSONView, oneLine, pretty } from './json';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { address, go, select } from './route';
import type { Row } from './rows';
import { RunTree } from './runtree';
import { type TimedCall, type TimedStep, isFailure, timedOf } from './timed';
import { wakeWord } from './timer';
import type { JSONValue } from './types';

// SpanView is the tab about the row that is chosen.
export function SpanView({ row, record }: { row: Row | undefined; record: RunRecord }) {
  const [problem, setProblem] = useState<unknown>(undefined);
  if (!row) return <p class="empty">Choose a row of the timeline.</p>;
  const of = row.record;
  const step = row.step ? timedOf(of).find((s) => s.step === row.step) : undefined;
  const call = step && row.call && row.kind !== 'model' ? step.calls.find((c) => row.call === c.id || row.call.endsWith(`~${c.id}`)) : undefined;
  const fork = () => void forkBefore(of, row.step).then((id) => go({ thread: id }), setProblem);
  return (
    <section class="pane-body" aria-label={`About ${row.name}`}>
      <div class="between">
        <h2>{row.name}</h2>
        <Status name={row.state} />
      </div>
      {row.kind === 'run' && <><RunFacts record={record} /><RunTree record={record} /></>}
      {row.kind === 'step' && step && <StepFacts row={row} step={step} />}
      {row.kind === 'model' && step && <ModelFacts row={row} step={step} />}
      {call && <CallFacts row={row} step={step!} call={call} />}
      {problem !== undefined && <Problem error={problem} />}
      <div class="actions">
        {call?.status === 'waiting' && row.kind !== 'child' && <a class="button primary" href={address({ thread: of.thread, run: of.id })}>{call.kind === 'timer' ? 'Show in the chat' : 'Answer in the chat'}</a>}
        {row.kind === 'model' && of === record && <button type="button" onClick={() => select({ tab: 'request' })}><Icon name="right" /> Show the request</button>}
        {row.step > 0 && <button type="button" onClick={fork}><Icon name="fork" /> Fork before this {row.kind === 'step' ? 'step' : 'call'}</button>}
        <span class="inline"><Copy text={location.href} label="Copy link"><Icon name="copy" /> Copy link</Copy><kbd class="hide-narrow">y</kbd></span>
      </div>
    </section>
  );
}

export function RunFacts({ record }: { record: RunRecord }) {
  const f = figuresOf(record, Date.now());
  const run = record.run.value;
  const failure = record.error ?? (f.termination && f.termination.type !== 'natural_end' ? { code: f.termination.code ?? '', text: f.termination.detail ?? '' } : undefined);
  return (
    <>
      <dl class="facts">
        <dt>Run</dt><dd><code>{record.id}</code></dd>
        {record.agent && <><dt>Agent</dt><dd>{record.agent}</dd></>}
        {run?.asked && <><dt>Asked</dt><dd dir="auto">{run.asked}</dd></>}
        {f.began > 0 && <><dt>Started</dt><dd>{moment(f.began)}{run?.created_at && f.began - run.created_at >= 1000 ? `, after ${took(f.began - run.created_at)} in the queue` : ''}</dd></>}
        {f.ended > 0 && <><dt>Ended</dt><dd>{moment(f.ended)}</dd></>}
        <dt>Worked</dt><dd>{took(f.worked)}</dd>
        {f.waited > 0 && <><dt>Waited</dt><dd>{took(f.waited)}</dd></>}
        <dt>Steps</dt><dd>{f.steps.toLocaleString()}, {count(f.calls, 'call')}{f.cut && ', 1 cut short'}</dd>
        {tokens(f.usage) && <><dt>Tokens</dt><dd>{tokens(f.usage)}</dd></>}
        {typeof f.cost === 'number' && <><dt>Cost</dt><dd>{money(f.cost)}</dd></>}
        {f.takeovers > 0 && <><dt>Resumed</dt><dd>{count(f.takeovers, 'time')}, after a host ended</dd></>}
        {run?.parent && <><dt>Started by</dt><dd><a href={`#/runs/${run.parent.run_id}`}>run {short(run.parent.run_id)}</a>{run.parent.tool_call_id && <>, call <code>{run.parent.tool_call_id}</code></>}</dd></>}
        {failure && (failure.code || failure.text) && <><dt>Reason</dt><dd>{failure.code && <code>{failure.code}</code>} {failure.text}</dd></>}
      </dl>
      {run?.response && <Part label="Answer" text={run.response} />}
    </>
  );
}

function StepFacts({ row, step }: { row: Row; step: TimedStep }) {
  return (
    <dl class="facts">
      <dt>Took</dt><dd>{took(row.took)}{row.waited > 0 && `, waited ${took(row.waited)}`}</dd>
      {step.queued > 0 && <><dt>Queue</dt><dd>{took(step.queued)}</dd></>}
      {step.began > 0 && <><dt>Started</dt><dd>{clock(step.began)}</dd></>}
      {tokens(step.usage) && <><dt>Tokens</dt><dd>{tokens(step.usage)}</dd></>}
      <dt>Calls</dt><dd>{step.calls.length ? step.calls.map((c) => c.name).join(', ') : 'none'}</dd>
      {step.revision > 0 && <><dt>State</dt><dd><button type="button" class="link" onClick={() => select({ tab: 'state' })}>revision {step.revision}</button></dd></>}
      {step.failed && <><dt>Failure</dt><dd>{step.failed} {step.detail}</dd></>}
    </dl>
  );
}

function ModelFacts({ row, step }: { row: Row; step: TimedStep }) {
  const last = step.attempts.at(-1);
  const first = last?.first_at || step.first;
  return (
    <>
      <dl class="facts">
        <dt>Step</dt><dd>{step.step}{row.tries > 1 && `, try ${row.tries}`}</dd>
        <dt>Took</dt><dd>{took(row.took)}{first > 0 && last && first >= last.began_at && `, first token after ${took(first - last.began_at)}`}</dd>
        {step.queued > 0 && <><dt>Queue</dt><dd>{took(step.queued)}</dd></>}
        {tokens(step.usage) && <><dt>Tokens</dt><dd>{tokens(step.usage)}</dd></>}
        {step.stop && !step.cut && <><dt>Stopped</dt><dd>{step.stop}</dd></>}
        {last && isFailure(last) && row.tries === 1 && !step.failed && <><dt>Failure</dt><dd>{last.reason} {step.cut && row.record.run.value?.termination?.detail}</dd></>}
        {step.failed && <><dt>Failure</dt><dd>{step.failed} {step.detail}</dd></>}
        {step.breaks.map((b, i) => (
          <>
            <dt key={`t${i}`}>{b.moved ? 'Resumed' : 'Again'}</dt>
            <dd key={`d${i}`}>{b.moved ? `host ended at ${clock(b.lost)}, resumed after ${took(b.to - b.lost)}` : `began again at ${clock(b.to)}`}; {took(Math.max(0, b.lost - b.from))} thrown away</dd>
          </>
        ))}
      </dl>
      {row.tries > 1 && (
        <ol class="tries">
          {step.attempts.map((a, i) => (
            <li key={i}>
              {isFailure(a) ? <span class="status failed"><Icon name="cross" />{a.reason}</span> : <Status name={row.state} />} {a.model && <span>{a.model}</span>}{' '}
              <span class="meta">{a.ended_at ? took(a.ended_at - a.began_at) : ''}{a.wait_ms ? `, then a wait of ${took(a.wait_ms)}` : ''}</span>
            </li>
          ))}
          {step.more > 0 && <li class="meta">{count(step.more, 'earlier try')} of an earlier worker</li>}
        </ol>
      )}
      {step.reasoning && <Part label="Thought" text={step.reasoning} />}
      {step.text && <Part label="Said" text={step.text} />}
      {step.calls.length > 0 && <p class="meta">Called {step.calls.map((c) => c.name).join(', ')}.</p>}
    </>
  );
}

function Part({ label, text }: { label: string; text: string }) {
  return (
    <div class="part">
      <h3 class="label">{label}</h3>
      <p class="said-text" dir="auto">{text.length > most ? `${text.slice(0, most)}…` : text}</p>
    </div>
  );
}

const most = 4000; // characters of an answer that are shown here

const decisions: Record<string, string> = { resume: 'Approved', cancel: 'Denied' };

function CallFacts({ row, step, call }: { row: Row; step: TimedStep; call: TimedCall }) {
  const changes = call.edited === undefined ? [] : changed(call.arguments ?? null, call.edited);
  const ran = call.took > 0 || (call.ended > 0 && !['denied', 'cancelled', 'not_executed', 'blocked', 'invalid'].includes(call.status));
  const word = wakeWord(call.kind === 'timer', call.woken, call.action) || (call.kind === 'client' ? { resume: 'Answered', cancel: 'Declined' }[call.action] ?? 'Answered' : decisions[call.action] ?? 'Decided');
  return (
    <>
      <dl class="facts">
        <dt>Step</dt><dd>{step.step}, call <code>{call.id}</code></dd>
        {call.kind !== 'child' && call.asked > 0 && (call.answered > 0 ? <><dt>{word}</dt><dd>{clock(call.answered)}, after {took(call.answered - call.asked)}{call.reason && `: ${call.reason}`}</dd></> : <><dt>Waits</dt><dd>since {clock(call.asked)}</dd></>)}
        {call.wakes > 0 && call.answered === 0 && <><dt>Wakes</dt><dd>{moment(call.wakes)}</dd></>}
        {changes.length > 0 && (
          <>
            <dt>Changed</dt>
            <dd>{changes.map((c) => <div key={c.path} class="changed">{c.path} {c.before !== undefined && <del>{c.before}</del>} {c.after !== undefined && <ins>{c.after}</ins>}</div>)}</dd>
          </>
        )}
        {row.kind !== 'child' && row.kind !== 'ask' && ran && <><dt>Ran</dt><dd>{took(call.took)}</dd></>}
        {call.child && <><dt>Run</dt><dd><a href={`#/runs/${call.child.run_id}`}>{short(call.child.run_id)}</a>{call.child.agent_id && ` of ${call.child.agent_id}`}</dd></>}
      </dl>
      <h3 class="label">{call.edited !== undefined ? 'Arguments as run' : 'Arguments'}</h3>
      <JSONView value={call.edited ?? call.arguments ?? call.text} label={`arguments of ${call.name}`} />
      {call.output && <><h3 class="label">Output</h3><pre tabIndex={0} role="group" aria-label="output">{call.output}</pre></>}
      {call.result !== undefined && <><h3 class="label">Result</h3><JSONView value={call.result} label={`result of ${call.name}`} /></>}
      {call.message && <><h3 class="label">What the model reads</h3><JSONView value={call.message} label="message" /></>}
    </>
  );
}

// changed lists what a person has put in the place of a model's arguments.
function changed(before: JSONValue, after: JSONValue): { path: string; before?: string; after?: string }[] {
  const isObject = (v: JSONValue): v is { [key: string]: JSONValue } => typeof v === 'object' && v !== null && !Array.isArray(v);
  const line = (v: JSONValue | undefined) => (v === undefined ? undefined : oneLine(typeof v === 'string' ? v : pretty(v), 80));
  if (!isObject(before) || !isObject(after)) return [{ path: '', before: line(before), after: line(after) }];
  return [...new Set([...Object.keys(before), ...Object.keys(after)])]
    .filter((k) => JSON.stringify(before[k]) !== JSON.stringify(after[k]))
    .map((k) => ({ path: k, before: Object.hasOwn(before, k) ? line(before[k]) : undefined, after: Object.hasOwn(after, k) ? line(after[k]) : undefined }));
}
