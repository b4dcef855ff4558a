// The calls of tools in the chat: one as a line that opens, several of a step as a group on
// one scale of time.
import { Fragment } from 'preact';
import { useState } from 'preact/hooks';
import { asksYou } from './asked';
import { Child, childOf } from './child';
import { Family } from './family';
import { duration, moment } from './format';
import { FileView } from './file';
import { Shown, coded } from './hidden';
import { Icon, Mark, type IconName } from './icons';
import { Coloured, JSONView, oneLine } from './json';
import type { Progress, RunRecord, ShownCall, Turn } from './record';
import { useNow } from './now';
import { route, select } from './route';
import { recordOf } from './follow';
import { TicketCard, ofTicket } from './ticket';
import { TimerCard, isTimer, wokenAs } from './timer';
import type { JSONValue, StepCall } from './types';

interface Properties {
  turn: Turn;
  record?: RunRecord;
  onDecided: (suspension: string) => void;
}

// Calls shows what a turn calls: those that wait for a person or a time as their tickets, also
// those of child runs.
export function Calls({ turn, record, onDecided }: Properties) {
  record?.version.value;
  const asks = (c: ShownCall) => c.status === 'waiting' && !!c.ticket && asksYou(c.ticket);
  const sleeps = (c: ShownCall) => c.status === 'waiting' && c.ticket?.kind === 'timer';
  const lines = turn.calls.filter((c) => !asks(c) && !sleeps(c));
  const kept = recordOf(turn.run).stored.value.find((s) => s.step === turn.step)?.calls;
  const all = lines.map((call) => ({ call, stored: kept?.find((c) => c.id === call.id) }));
  const now = useNow(lines.some(works));
  const times = all.map(({ call, stored }) => timesOf(call, stored, now));
  const scale = scaleOf(times);
  const open = record && !record.complete ? record : undefined;
  const cards = all.map(({ call, stored }, i) => (
    <Fragment key={call.id}>
      <CallCard call={call} stored={stored} times={times[i]} scale={scale} turn={turn} ended={!open} asking={!!open?.children.asking(call.id)} />
      {open && <Family record={open} call={call.id} name={coded(call.name)} waits={works(call)} />}
    </Fragment>
  ));
  const below = open?.children.tickets.filter((t) => turn.calls.some((c) => c.id === open.children.runs.get(t.run_id)?.call)) ?? [];
  return (
    <>
      {cards.length > 1 ? (
        <div class="call-group" role="group" aria-label={`${cards.length} calls`}>
          <GroupLine calls={lines} times={times} scale={scale} />
          {cards}
        </div>
      ) : cards}
      {turn.calls.filter(sleeps).map((c) => <TimerCard key={c.id} run={turn.run} ticket={c.ticket!} onDecided={onDecided} />)}
      {turn.calls.filter(asks).map((c) => <TicketCard key={c.id} waiting={ofTicket(turn.run, c.ticket!)} onDecided={onDecided} />)}
      {below.map((t) => <TicketCard key={`${t.run_id} ${t.suspension_id}`} waiting={ofTicket(turn.run, t, t.agent_id)} onDecided={onDecided} />)}
    </>
  );
}

// When a call ran, in unix milliseconds; 0: not known.
interface Times {
  from: number;
  to: number;
  asked: number;
  answered: number;
  took: number; // it ran; -1: not known
}

function timesOf(c: ShownCall, s: StepCall | undefined, now: number): Times {
  const to = c.ended || s?.ended_at || (works(c) ? now : 0);
  const asked = c.asked || s?.asked_at || 0;
  const measured = c.took || s?.duration_ms || 0;
  const began = s?.began_at || (c.ended && c.ready ? c.ended : c.resumed || c.ready); // below a millisecond there is no duration
  const from = childOf(c, s) && asked ? asked : measured && to ? to - measured : began;
  const known = to > 0 && from > 0 && (asked > 0 || !childOf(c, s)); // a child works while its call waits
  return { from: known ? from : 0, to, asked, answered: s?.answered_at || (asked && c.resumed) || 0, took: known ? to - from : -1 };
}

// works says that a call, or the child run that it waits for, is not over.
const works = (c: ShownCall) => c.status === 'running' || (c.status === 'waiting' && c.ticket?.kind === 'child');

interface Scale {
  from: number;
  whole: number;
}

function scaleOf(times: Times[]): Scale {
  const known = times.filter((t) => t.from && t.to);
  const from = Math.min(...known.map((t) => t.from));
  return { from, whole: known.length ? Math.max(1, ...known.map((t) => t.to - from)) : 0 };
}

// GroupLine says what the calls of a step come to as a whole.
function GroupLine({ calls, times, scale }: { calls: ShownCall[]; times: Times[]; scale: Scale }) {
  const at = times.toSorted((a, b) => a.from - b.from);
  const overlap = at.some((t, i) => i > 0 && t.from + 1 < at[i - 1].to); // times are whole milliseconds
  const open = calls.find((c) => ['running', 'writing', 'waiting'].includes(c.status));
  const failed = calls.filter((c) => toneOf(c.status) === 'failed').length;
  const [tone, sign, word] = open ? signs[open.status] : failed ? (['failed', 'cross', `${failed} of ${calls.length} failed`] as const) : signs.ok;
  return (
    <div class="call-sum">
      <strong>{calls.length} calls{overlap ? ' side by side' : ''}</strong>
      <span class="grow" />
      <Mark tone={tone} sign={sign} word={word} />
      <span class="took">{scale.whole > 1 ? duration(scale.whole) : ''}</span>
    </div>
  );
}

const signs: Record<string, readonly [tone: string, sign: IconName | '', word: string]> = {
  writing: ['running', '', 'writing'],
  running: ['running', '', 'running'],
  waiting: ['waiting', 'pause', 'waiting'],
  ok: ['done', 'check', 'done'],
  set: ['done', 'check', 'answered'],
  error: ['failed', 'cross', 'failed'],
  invalid: ['failed', 'cross', 'invalid arguments'],
  denied: ['failed', 'ban', 'denied'],
  blocked: ['failed', 'ban', 'blocked'],
  unknown: ['failed', 'help', 'outcome unknown'],
  cancelled: ['queued', 'stop', 'cancelled'],
  not_executed: ['queued', 'stop', 'not executed'],
};

const toneOf = (status: string) => signs[status]?.[0] ?? 'queued';

// changesOf counts the arguments that a person put in the place of the model's.
function changesOf(c: ShownCall, s: StepCall | undefined): [name: string, was: JSONValue | undefined, is: JSONValue | undefined][] {
  const is = s?.edited as Record<string, JSONValue> | undefined;
  if (!is || typeof is !== 'object') return [];
  const was = (c.arguments ?? s?.arguments ?? {}) as Record<string, JSONValue>;
  return [...new Set([...Object.keys(was), ...Object.keys(is)])].filter((k) => JSON.stringify(was[k]) !== JSON.stringify(is[k])).map((k) => [k, was[k], is[k]]);
}

const approved = (c: ShownCall, s: StepCall | undefined) => c.status !== 'set' && (!c.ticket || asksYou(c.ticket)) && !childOf(c, s) && (s?.action ?? c.answered) === 'resume';

function signOf(c: ShownCall, s: StepCall | undefined, asking: boolean): readonly [tone: string, sign: IconName | '', word: string] {
  const changes = changesOf(c, s).length;
  const woken = wokenAs(c, s);
  if (woken && toneOf(c.status) === 'done') return ['done', 'check', woken];
  if (c.status === 'ok' && approved(c, s)) return ['done', 'check', changes ? `approved with ${changes} change${changes > 1 ? 's' : ''}` : 'approved'];
  if (c.status === 'waiting' && c.ticket?.kind === 'child') return asking ? ['waiting', 'pause', 'child run asks you'] : ['running', '', 'child run works'];
  return signs[c.status] ?? ['queued', 'dot', c.status];
}

interface CardProperties {
  call: ShownCall;
  stored?: StepCall;
  times: Times;
  scale: Scale;
  turn: Turn;
  ended: boolean;
  asking: boolean; // a child run of it waits for an answer
}

function CallCard({ call, stored, times, scale, turn, ended, asking }: CardProperties) {
  const selected = route.value.call === call.id && route.value.run === turn.run;
  const [open, setOpen] = useState(false);
  const child = childOf(call, stored);
  const question = questionOf(call);
  const result = call.message || call.result !== undefined ? ` → ${oneLine(call.message || call.result, 60)}` : '';
  const [tone, sign, word] = signOf(call, stored, asking);
  const running = works(call);
  return (
    <details
      class={`call${selected ? ' selected' : ''}${running ? ' live' : ''}`} data-call={call.id}
      onToggle={(e) => {
        setOpen(e.currentTarget.open);
        if (e.currentTarget.open) select({ run: turn.run, step: turn.step, call: call.id });
      }}
    >
      <summary>
        <span class="call-top">
          <Icon name={child ? 'fork' : question !== undefined ? 'ask' : isTimer(call, stored) ? 'clock' : call.asked || stored?.asked_at ? 'hand' : 'tool'} />
          <strong class="call-name" dir="auto"><Shown text={question ?? call.name} /></strong>
          <span class="call-line">{question === undefined && <bdi dir="ltr"><Coloured text={oneLine(call.arguments ?? call.text, 60)} /></bdi>}<bdi><Shown text={result} /></bdi></span>
          {question === undefined && <Lane times={times} scale={scale} tone={tone} />}
          <Mark tone={tone} sign={sign} word={word} />
          <span class="took">{tookOf(call, times)}</span>
        </span>
        {running && call.progress && <ProgressBar progress={call.progress} running={times.to - times.from} />}
      </summary>
      {open && (
        <div class="call-in">
          <Decided call={call} stored={stored} times={times} />
          {question === undefined && !child && <Arguments call={call} />}
          <Output text={call.output} running={running} />
          {call.activity !== undefined && running && <><p class="label">Activity</p><JSONView value={call.activity} label="activity" /></>}
          {child && <Child run={child} asked={oneLine(call.arguments)} over={ended || call.result !== undefined} />}
          {call.result !== undefined && <><p class="label">{call.status === 'set' && !isTimer(call, stored) ? 'Answer' : 'Result'}</p><JSONView value={call.result} label={`result of ${coded(call.name)}`} /></>}
          {call.content?.map((b, i) => (b.type === 'file' ? <p key={i}><FileView block={b} saves /></p> : <p key={i} class="plain" dir="auto"><Shown text={b.text ?? ''} /></p>))}
          {call.message && <><p class="label">What the model reads</p><pre tabIndex={0} role="group" aria-label="message" dir="auto"><Shown text={call.message} /></pre></>}
        </div>
      )}
    </details>
  );
}

// questionOf is the text that a client's tool asks; undefined: it is another call.
function questionOf(c: ShownCall): string | undefined {
  const asked = (c.arguments as { question?: JSONValue } | null | undefined)?.question;
  if (c.ticket?.kind === 'timer' || (c.status !== 'set' && c.ticket?.kind !== 'client')) return undefined;
  return typeof asked === 'string' && asked ? asked : c.ticket?.message;
}

// tookOf is how long a call ran, or how long it waited for its answer.
function tookOf(c: ShownCall, t: Times): string {
  if (c.status === 'set') return t.asked && (t.answered || t.to) > t.asked ? duration((t.answered || t.to) - t.asked) : '';
  return t.took >= 0 && c.status !== 'writing' ? duration(t.took) : '';
}

function Arguments({ call }: { call: ShownCall }) {
  return (
    <>
      <p class="label">Arguments</p>
      {call.arguments === undefined ? <pre tabIndex={0} role="group" aria-label="arguments so far" dir="auto"><Shown text={call.text} /></pre> : <JSONView value={call.arguments} label={`arguments of ${coded(call.name)}`} />}
    </>
  );
}

// Lane is the bar of a call on the scale of its group.
function Lane({ times, scale, tone }: { times: Times; scale: Scale; tone: string }) {
  if (!scale.whole || !times.from) return null;
  const left = ((times.from - scale.from) / scale.whole) * 100;
  const width = ((times.to - times.from) / scale.whole) * 100;
  return (
    <span class="lane" aria-hidden="true">
      <span class={tone} style={{ left: `${Math.min(97, left)}%`, width: `${Math.max(3, Math.min(width, 100 - left))}%` }} />
    </span>
  );
}

// Decided says what a person decided on the call, and what they changed.
function Decided({ call, stored, times }: { call: ShownCall; stored?: StepCall; times: Times }) {
  const action = stored?.action ?? call.answered;
  if (!action || call.ticket?.kind === 'child' || childOf(call, stored)) return null;
  const woken = wokenAs(call, stored) || (isTimer(call, stored) ? 'cancelled' : '');
  const word = woken ? woken[0].toUpperCase() + woken.slice(1) : call.status === 'set' ? 'Answered' : action === 'resume' ? 'Approved' : 'Denied';
  const waited = times.answered > times.asked && times.asked ? ` after ${duration(times.answered - times.asked)}` : '';
  return (
    <div class="decided">
      <p>{word}{times.answered ? ` at ${moment(times.answered)}` : ''}{waited}{stored?.reason && <>: <q dir="auto"><Shown text={stored.reason} prose /></q></>}</p>
      {changesOf(call, stored).map(([name, was, is]) => (
        <p key={name} dir="auto"><code><Shown text={name} /></code>: the model said <del><Shown text={oneLine(was)} /></del>, it ran with <ins><Shown text={oneLine(is)} /></ins></p>
      ))}
    </div>
  );
}

const lastLines = 12;

// Output is what a tool puts out: while it runs the end of it.
function Output({ text, running }: { text: string; running: boolean }) {
  if (!text) return null;
  const lines = text.trimEnd().split('\n');
  const hidden = running ? Math.max(0, lines.length - lastLines) : 0;
  return (
    <>
      <p class="label">Output</p>
      <pre class="tail" tabIndex={0} role="group" aria-label="output" dir="auto">
        {hidden > 0 && <span class="code-note">+ {hidden} earlier line{hidden > 1 ? 's' : ''}{'\n'}</span>}
        <Shown text={lines.slice(hidden).join('\n').slice(-200_000)} />
      </pre>
    </>
  );
}

// ProgressBar says how far a tool is, and about how long it will take.
function ProgressBar({ progress: p, running }: { progress: Progress; running: number }) {
  const part = p.progress;
  const left = part !== undefined && part > 0.1 && part < 1 && running > 1000 ? (running / part) * (1 - part) : 0;
  return (
    <span class="progress">
      <span class="progress-text" dir="auto"><Shown text={p.message ?? (p.total ? `${p.loaded} of ${p.total}` : `${p.loaded}`)} /></span>
      <span class="meta">{left > 0 && `about ${left < 60_000 ? `${Math.ceil(left / 1000)} s` : duration(left)} left`}</span>
      <strong>{part !== undefined && `${Math.round(part * 100)} %`}</strong>
      {part !== undefined && <span class="progress-bar" aria-hidden="true"><span style={{ width: `${part * 100}%` }} /></span>}
    </span>
  );
}
