// The field below the chat as the answer to what an agent asks.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { formOf, given, wordsOf, type Choice } from './asked';
import { decide, type Decision } from './decisions';
import { draftOf, write } from './draft';
import { focusNext } from './focus';
import { SchemaForm } from './form';
import { Shown, coded } from './hidden';
import { Icon } from './icons';
import { JSONView } from './json';
import { letters } from './keys';
import { Problem } from './problem';
import { Due } from './due';
import { tell } from './told';
import type { Ticket } from './types';

interface Properties {
  run: string;
  ticket: Ticket;
  agent: string;
  at: number; // of the open questions
  of: number;
  onInstead?: () => void;
  onDecided: () => void;
  after?: (suspension: string) => void; // moves the focus on
}

// AnswerField asks for the answer. Nothing that is typed in it cancels the question.
export function AnswerField({ run, ticket, agent, at, of, onInstead, onDecided, after = focusNext }: Properties) {
  const box = useRef<HTMLDivElement>(null);
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(undefined);
  const [wrong, setWrong] = useState('');
  const name = `${run}.${ticket.suspension_id}`;
  const text = draftOf(name).text.value;
  const form = formOf(ticket);
  useLayoutEffect(() => {
    if (document.activeElement === document.body && matchMedia('(min-width: 760px)').matches) box.current?.querySelector<HTMLElement>('textarea, input, select, .chip')?.focus();
  }, []);
  const send = async (d: Decision) => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const outcome = await decide(run, ticket, d);
      write(name, '');
      tell(outcome.others ? 'Another user was faster.' : d.action === 'resume' ? 'Answered.' : 'The question is declined.');
      onDecided();
      after(ticket.suspension_id);
    } catch (e) {
      setProblem(e);
    }
    setBusy(false);
  };
  const choose = (c: Choice) => void send({ action: 'resume', payload: form.wrap(c.value) });
  const answer = () => {
    if (!text.trim()) return;
    const got = form.read(text.trim());
    if ('value' in got) void send({ action: 'resume', payload: got.value });
    else setWrong(got.wrong);
  };
  useDigits(form.choices, choose);
  const id = `answer-${ticket.tool_call_id}`;
  const rest = given(ticket);
  return (
    <div ref={box} class="composer" role="group" aria-label={`Waiting: ${coded(ticket.tool_name)}`}>
      {problem !== undefined && <Problem error={problem} />}
      <div class="composer-box answering">
        <div class="lead">
          <Icon name="ask" />
          <strong id={id} class="grow" dir="auto"><Shown text={wordsOf(ticket)} prose /></strong>
          <span class="meta"><Shown text={agent} /> asks{of > 1 && <>, {at} of {of}</>}</span>
          <Due from={ticket.created_at} at={ticket.expires_at || ticket.wakes_at} wakes={!ticket.expires_at} />
        </div>
        {rest && <div class="lead"><details class="grow"><summary class="meta">Given to <Shown text={ticket.tool_name} /></summary><JSONView value={rest} label={`arguments of ${coded(ticket.tool_name)}`} /></details></div>}
        {form.choices.length > 0 && (
          <div class="lead choices" role="group" aria-label="Choices">
            {form.choices.map((c, i) => (
              <button key={i} type="button" class="chip" disabled={busy} onClick={() => choose(c)}>
                <Shown text={c.name} prose /> {i < 9 && <kbd aria-hidden="true">{i + 1}</kbd>}
              </button>
            ))}
            {form.words && <span class="meta">or in your words</span>}
          </div>
        )}
        {form.words && (
          <form class="answer-in" onSubmit={(e) => (e.preventDefault(), answer())}>
            <textarea
              id="composer" rows={1} dir="auto" aria-label="Your answer" aria-describedby={wrong ? `${id}-wrong` : id} aria-invalid={wrong ? true : undefined} placeholder="Your answer" value={text}
              onInput={(e) => (setWrong(''), write(name, e.currentTarget.value))}
              onKeyDown={(e) => e.key === 'Enter' && !e.shiftKey && !e.isComposing && (e.preventDefault(), answer())}
            />
            <button type="submit" class="primary" disabled={busy || !text.trim()}>Answer <kbd aria-hidden="true">Enter</kbd></button>
          </form>
        )}
        {form.fields && <div class="answer-form"><SchemaForm schema={form.fields} verb="Answer" busy={busy} onSubmit={(payload) => void send({ action: 'resume', payload })} /></div>}
        {wrong && <p id={`${id}-wrong`} class="wrong padded">{wrong}</p>}
      </div>
      <div class="actions beneath">
        <button type="button" class="small" disabled={busy} onClick={() => void send({ action: 'cancel' })}><Icon name="ban" /> Decline to answer</button>
        {onInstead && <button type="button" class="small" onClick={onInstead}><Icon name="chat" /> Say something else instead…</button>}
      </div>
    </div>
  );
}

// useDigits lets a digit choose a value, unless a text field has the focus.
function useDigits(choices: Choice[], choose: (c: Choice) => void): void {
  const latest = useRef({ choices, choose });
  latest.current = { choices, choose };
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent) => {
      const { choices, choose } = latest.current;
      const choice = /^[1-9]$/.test(e.key) ? choices[Number(e.key) - 1] : undefined;
      if (!choice || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || !letters.value || document.querySelector('dialog[open]')) return;
      if (e.target instanceof HTMLElement && /^(INPUT|TEXTAREA|SELECT)$/.test(e.target.tagName)) return;
      if (!(e.target instanceof Node) || !document.querySelector('.composer .choices')?.parentElement?.contains(e.target)) return;
      e.preventDefault();
      e.stopImmediatePropagation(); // elsewhere digits choose a tab
      choose(choice);
    };
    addEventListener('keydown', press, true);
    return () => removeEventListener('keydown', press, true);
  }, []);
}
