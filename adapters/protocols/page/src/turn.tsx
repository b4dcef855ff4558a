// One turn of the model in the chat: what it thought, said and called.
import { duration, tokens } from './format';
import { Shown, coded } from './hidden';
import { Icon, Status } from './icons';
import { JSONView, oneLine, pretty } from './json';
import { Markdown } from './markdown';
import type { RunRecord, ShownCall, Step, Turn } from './record';
import { route, select } from './route';
import { TicketCard, ofTicket } from './ticket';
import type { Block } from './types';

interface Properties {
  turn: Turn;
  record?: RunRecord;
  onDecided: (suspension: string) => void;
}

// TurnView shows a turn. While it is being said its end is marked busy, and a screen
// reader is told of the whole, not of each piece.
export function TurnView({ turn, record, onDecided }: Properties) {
  const step = record ? (turn as Step) : undefined;
  const writing = !!step && !step.said && !step.ended && !record?.complete;
  return (
    <article class="turn" aria-label="Agent" aria-busy={writing} data-step={turn.step}>
      {turn.voids.map((v, i) => (
        <details key={i} class="void">
          <summary>Attempt {i + 1}, restarted</summary>
          <Blocks blocks={v.blocks} writing={false} />
        </details>
      ))}
      <Blocks blocks={turn.blocks} writing={writing} />
      {turn.calls.map((c) => <CallCard key={c.id} call={c} turn={turn} onDecided={onDecided} />)}
      {turn.retries.map((r, i) => (
        <p key={i} class="meta">
          The model failed ({r.reason}); {r.to ? `${r.to} continues` : `attempt ${r.failed + 1}`}{r.wait > 0 && ` after ${duration(r.wait)}`}.
        </p>
      ))}
      {turn.failed && <p class="meta">The model failed permanently: {turn.failed}.</p>}
      {turn.stop === 'max_tokens' && <p class="meta">Truncated: the model reached its token limit.</p>}
      {writing && !turn.blocks.length && !turn.calls.length && <p class="meta"><Status name="running" quiet /> Calling the model…</p>}
    </article>
  );
}

function Blocks({ blocks, writing }: { blocks: Block[]; writing: boolean }) {
  return (
    <>
      {blocks.map((b, i) => {
        const open = writing && i === blocks.length - 1;
        if (b.type === 'text') return <Markdown key={i} text={b.text ?? ''} open={open} />;
        return (
          <details key={i} class="reasoning" open={open}>
            <summary>{open ? 'Thinking…' : 'Thought'}</summary>
            <Markdown text={b.text ?? ''} open={open} />
          </details>
        );
      })}
    </>
  );
}

function CallCard({ call, turn, onDecided }: { call: ShownCall; turn: Turn; onDecided: (suspension: string) => void }) {
  const selected = route.value.call === call.id;
  const arrow = call.result !== undefined || call.message ? ` → ${oneLine(call.message ?? call.result, 60)}` : '';
  if (call.status === 'waiting' && call.ticket) {
    if (call.ticket.kind === 'child') return <p class="meta"><Status name="waiting" quiet /> <Shown text={call.name} /> waits for its child run.</p>;
    return <TicketCard waiting={ofTicket(turn.run, call.ticket)} onDecided={onDecided} />;
  }
  return (
    <details class={`call${selected ? ' selected' : ''}`} data-call={call.id} onToggle={(e) => e.currentTarget.open && select({ run: turn.run, step: turn.step, call: call.id })}>
      <summary>
        <Icon name="tool" />
        <span class="call-name"><Shown text={call.name} /></span>
        <span class="call-line"><Shown text={oneLine(call.arguments ?? call.text, 60)} /><Shown text={arrow} /></span>
        <Status name={call.status} />
      </summary>
      <p class="label">Arguments</p>
      {call.arguments === undefined ? <pre tabIndex={0} role="group" aria-label="arguments so far"><Shown text={call.text} /></pre> : <JSONView value={call.arguments} label={`arguments of ${coded(call.name)}`} />}
      {call.output && <><p class="label">Output</p><pre tabIndex={0} role="group" aria-label="output"><Shown text={call.output} /></pre></>}
      {call.activity !== undefined && call.status === 'running' && <><p class="label">Activity</p><JSONView value={call.activity} label="activity" /></>}
      {call.result !== undefined && <><p class="label">Result</p><JSONView value={call.result} label={`result of ${coded(call.name)}`} /></>}
      {call.message && <><p class="label">What the model reads</p><pre tabIndex={0} role="group" aria-label="message"><Shown text={call.message} /></pre></>}
      {call.took > 0 && <p class="meta">{duration(call.took)}</p>}
    </details>
  );
}

// textOf is a turn as text, to be copied.
export const textOf = (t: Turn) =>
  [...t.blocks.filter((b) => b.type === 'text').map((b) => b.text), ...t.calls.map((c) => `${c.name}(${pretty(c.arguments)}) → ${pretty(c.result)}`)].join('\n\n');

// TurnMeta says who said a turn, and what it took.
export const turnMeta = (t: Turn) => [t.model, tokens(t.usage)].filter(Boolean).join(' · ');
