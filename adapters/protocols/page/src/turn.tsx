// One turn of the model in the chat: who said it, what it thought, said and called.
import { Fragment } from 'preact';
import { useEffect, useRef } from 'preact/hooks';
import { Calls } from './call';
import { duration, minute, number, tokens } from './format';
import { FileView } from './file';
import { Shown } from './hidden';
import { Icon, Status } from './icons';
import { pretty } from './json';
import { Markdown } from './markdown';
import type { RunRecord, Step, Turn } from './record';
import { recordOf } from './follow';
import { onSight } from './sight';
import { Sources } from './sources';
import { readSteps } from './stored';
import type { Attempt, Block, StoredStep } from './types';

interface Properties {
  turn: Turn;
  record?: RunRecord;
  agent: string;
  onDecided: (suspension: string) => void;
}

// TurnView shows a turn. While it is being said its end is marked busy, and a screen
// reader is told of the whole, not of each piece.
export function TurnView({ turn, record, agent, onDecided }: Properties) {
  record?.version.value;
  const step = record ? (turn as Step) : undefined;
  const writing = !!step && !step.said && !step.ended && !record?.complete;
  const article = useRef<HTMLElement>(null);
  // What no event tells of calls is stored: read for those that are over, once they are seen.
  const wants = turn.calls.length > 0 && (!record || turn.calls.some((c) => c.asked > 0 && c.ended > 0));
  const over = !record || record.complete;
  useEffect(() => (wants ? onSight(article.current!, () => void readSteps(recordOf(turn.run))) : undefined), [wants, over, turn.run]);
  const stored = recordOf(turn.run).stored.value.find((s) => s.step === turn.step);
  return (
    <article class="turn" aria-label="Agent" aria-busy={writing} data-step={turn.step} ref={article}>
      <p class="who">
        <Icon name="agent" /> <strong><bdi><Shown text={agent || 'agent'} /></bdi></strong> <span class="meta">{whenOf(turn, step)}</span>
      </p>
      {stored?.takeovers?.map((t, i) => (
        <p key={i} class="meta"><span class="status done"><Icon name="again" /> resumed</span> The host ended in this step. Another took over after {duration(t.began_at - t.lost_at)}.</p>
      ))}
      {turn.voids.map((v, i) => (
        <details key={i} class="void">
          <summary>Attempt {i + 1}, thrown away when the step began again</summary>
          <Blocks blocks={v.blocks} writing={false} />
        </details>
      ))}
      {turn.retries.length ? turn.retries.map((r, i) => (
        <p key={i} class="meta">The model failed ({reason(r.reason)}); {r.to ? `${r.to} continues` : `attempt ${r.failed + 1}`}{r.wait > 0 && ` after ${duration(r.wait)}`}.{r.reason === 'context_overflow' && <Shortened limit={r.limit} />}</p>
      )) : <><Attempts step={stored} />{stored?.shown?.refused && <p class="meta"><Shortened limit={stored.shown.limit} /></p>}</>}
      <Blocks blocks={turn.blocks} writing={writing} />
      {turn.calls.length > 0 && <Calls turn={turn} record={record} onDecided={onDecided} />}
      {turn.failed && <p class="meta"><Status name="failed" /> The model failed permanently: {reason(turn.failed)}.</p>}
      {turn.stop === 'max_tokens' && <p class="meta">Truncated: the model reached its token limit.</p>}
      {writing && !turn.blocks.length && !turn.calls.length && <p class="meta"><Status name="running" quiet /> Calling the model…</p>}
    </article>
  );
}

// whenOf names the step of a turn; the first one of a run says when it was.
function whenOf(turn: Turn, step: Step | undefined): string {
  const at = turn.step === 1 ? step?.began || turn.at : 0;
  return [turn.step ? `step ${turn.step}` : '', at ? minute(at) : ''].filter(Boolean).join(', ');
}

// Shortened says why the model reads less of the conversation than it would.
const Shortened = ({ limit }: { limit?: number }) => <> The model refused a longer request{limit ? <>: it takes at most {number(limit)} tokens</> : ''}. It reads less of the conversation now.</>;

const reason = (kind: string) => kind.replaceAll('_', ' ');

// Attempts says which calls of the model failed before the turn, of a step that was stored.
function Attempts({ step }: { step?: StoredStep }) {
  const failed: Attempt[] = (step?.attempts ?? []).filter((a) => a.reason && a.reason !== 'cancelled'); // who stopped it knows
  if (!failed.length) return step?.retries ? <p class="meta">The model failed {step.retries === 1 ? 'once' : `${step.retries} times`} before this answer.</p> : null;
  return (
    <>
      {failed.map((a, i) => (
        <p key={i} class="meta">
          Attempt {i + 1}{a.model && ` of ${a.model}`} failed ({reason(a.reason!)}){a.ended_at ? ` after ${duration(a.ended_at - a.began_at)}` : ''}{a.wait_ms ? `; the next one waited ${duration(a.wait_ms)}` : ''}.
        </p>
      ))}
    </>
  );
}

function Blocks({ blocks, writing }: { blocks: Block[]; writing: boolean }) {
  return (
    <>
      {blocks.map((b, i) => {
        const open = writing && i === blocks.length - 1;
        if (b.type === 'text') return <Fragment key={i}><Markdown text={b.text ?? ''} open={open} /><Sources block={b} /></Fragment>;
        if (b.type === 'file') return <FileView key={i} block={b} saves />;
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

// textOf is a turn as text, to be copied.
export const textOf = (t: Turn) =>
  [...t.blocks.filter((b) => b.type === 'text').map((b) => b.text), ...t.calls.map((c) => `${c.name}(${pretty(c.arguments)}) → ${pretty(c.result)}`)].join('\n\n');

// TurnMeta says who said a turn, and what it took.
export const turnMeta = (t: Turn) => [t.model, tokens(t.usage)].filter(Boolean).join(' · ');
