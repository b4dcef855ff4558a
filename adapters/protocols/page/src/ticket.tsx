// A call that waits for an answer: what it would do, and the answer.
import { useRef, useState } from 'preact/hooks';
import { AnswerField } from './answer';
import { Refused } from './api';
import { ArgumentRows } from './arguments';
import { isQuestion, wordsOf } from './asked';
import { decide, outcomeOf, type Decision, type Outcome } from './decisions';
import { Due } from './due';
import { changedIn, editOf, fieldID, forget, refuse, takeOut, type Arguments } from './edits';
import { useEscape } from './escape';
import { recordOf } from './follow';
import { focusNext, focusOnce } from './focus';
import { SchemaForm } from './form';
import { Shown, coded, hiddenIn } from './hidden';
import { Icon } from './icons';
import { JSONView } from './json';
import { detail } from './lists';
import { Problem } from './problem';
import { tell } from './told';
import type { JSONValue, Ticket } from './types';

export interface Waiting {
  run: string;
  agent: string;
  ticket: Ticket;
}

export const ofTicket = (run: string, ticket: Ticket, agent = recordOf(run).agent): Waiting => ({ run, agent, ticket });

interface Properties {
  waiting: Waiting;
  onDecided: (suspension: string) => void; // is told once the host has an answer
  after?: (suspension: string) => void; // moves the focus on; without it the card is one of the chat
}

// TicketCard asks for the answer. In the chat a question is answered in the field below.
export function TicketCard({ waiting, onDecided, after }: Properties) {
  const { run, agent, ticket } = waiting;
  const outcome = outcomeOf(run, ticket);
  if (!isQuestion(ticket)) return <Approval key={ticket.suspension_id} waiting={waiting} outcome={outcome} onDecided={onDecided} after={after ?? focusNext} />;
  if (after && !outcome) return <AnswerField key={ticket.suspension_id} run={run} ticket={ticket} agent={agent} at={1} of={1} onDecided={() => onDecided(ticket.suspension_id)} after={after} />;
  return (
    <div class="asked" role="group" aria-label={`Waiting: ${coded(ticket.tool_name)}`}>
      <Icon name="ask" />
      <strong class="grow" dir="auto"><Shown text={wordsOf(ticket)} prose /></strong>
      <span class="status waiting">{outcome ? <Settled outcome={outcome} question /> : <><Icon name="ask" /> answer below</>}</span>
    </div>
  );
}

function Settled({ outcome, question }: { outcome: Outcome; question?: boolean }) {
  const word = outcome.action === 'resume' ? (question ? 'answered' : 'approved') : question ? 'declined' : 'denied';
  return <>{outcome.others ? `Another user was faster: ${word}` : `${word[0].toUpperCase()}${word.slice(1)}`}{outcome.reason && <>, “<Shown text={outcome.reason} prose />”</>}; the run continues.</>;
}

interface ApprovalProperties extends Properties {
  outcome?: Outcome;
  after: (suspension: string) => void;
}

function Approval({ waiting, outcome, onDecided, after }: ApprovalProperties) {
  const { run, agent, ticket } = waiting;
  const id = ticket.suspension_id;
  const key = `${run}/${id}`; // of the changes
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(undefined);
  const [remember, setRemember] = useState('once');
  const [payload, setPayload] = useState<JSONValue | undefined>(undefined);
  const card = useRef<HTMLElement>(null);
  const known = useTool(agent, ticket.tool_name);
  const said = argumentsOf(ticket);
  const edit = editOf(key, said ?? {});
  const changes = said ? changedIn(said, edit).length : 0;
  const send = async (d: Decision) => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const won = await decide(run, ticket, { ...d, ...lasting(ticket, remember) });
      tell(won.others ? 'Another user was faster.' : `${d.action === 'resume' ? 'Approved' : 'Denied'}: ${coded(ticket.tool_name)}.`);
      forget(key);
      onDecided(id);
      after(id);
    } catch (e) {
      if (!(changes > 0 && e instanceof Refused && e.status === 400 && refuse(key, said ?? {}, e.message))) setProblem(e);
    }
    setBusy(false);
  };
  const approve = () => {
    const wrong = Object.keys(edit.wrong)[0];
    const field = wrong !== undefined && document.getElementById(fieldID(key, wrong));
    if (field) return field.focus();
    void send({ action: 'resume', ...given(ticket, edit.given, changes), ...(payload !== undefined && { payload }) });
  };
  const hidden = hiddenIn(edit.given as JSONValue);
  return (
    <section ref={card} class="ticket" role="group" aria-label={`Waiting: ${coded(ticket.tool_name)}`} tabIndex={-1} data-ticket={id} data-answered={outcome ? '' : undefined}>
      <header>
        <Icon name="hand" />
        <h2>May <Shown text={agent || 'the agent'} /> call <Shown text={ticket.tool_name} />?</h2>
        <span class="grow" />
        <Due from={ticket.created_at} at={ticket.expires_at || ticket.wakes_at} wakes={!ticket.expires_at} />
      </header>
      <div class="ticket-body">
        {ticket.run_id && ticket.run_id !== run && <p class="meta">A call of a child run: <a href={`#/runs/${ticket.run_id}`}>open its run</a>.</p>}
        {known?.description && <p dir="auto"><Shown text={known.description} prose /></p>}
        {ticket.message && ticket.message !== `May the agent use the tool ${ticket.tool_name}?` && <p dir="auto"><Shown text={ticket.message} prose /></p>}
        {said ? <ArgumentRows id={key} tool={ticket.tool_name} said={said} schema={known?.parameters} fixed={!!outcome} /> : <JSONView value={ticket.arguments} label={`arguments of ${coded(ticket.tool_name)}`} />}
        {hidden > 0 && <HiddenNote count={hidden} onTakeOut={outcome || !said ? undefined : () => (takeOut(key, said), card.current?.focus())} />}
        {ticket.response_schema && ticket.resume_mode === 'replay_tool_call' && !outcome && <SchemaForm schema={ticket.response_schema} onChange={setPayload} />}
        {ticket.action === confirm && !outcome && <Again ticket={ticket} value={remember} onChange={setRemember} />}
        {problem !== undefined && <Problem error={problem} />}
      </div>
      {outcome ? (
        <footer><p role="status"><Settled outcome={outcome} /></p></footer>
      ) : (
        <Buttons card={card} busy={busy} changes={changes} onApprove={approve} onDeny={(reason) => void send({ action: 'cancel', ...(reason && { reason }) })} />
      )}
    </section>
  );
}

// confirm is the action of what asks for a permission, which can be remembered.
const confirm = 'tool:PermissionConfirm';

// given is what an approval says of the arguments: nothing, if they are the model's.
function given(t: Ticket, now: Arguments, changes: number): Partial<Decision> {
  if (changes) return { arguments: now };
  return t.resume_mode === 'pass_decision_to_tool' ? { payload: t.arguments } : {};
}

const argumentsOf = (t: Ticket): Arguments | undefined => (t.arguments && typeof t.arguments === 'object' && !Array.isArray(t.arguments) ? t.arguments : undefined);

// lasting is what an answer says of later calls.
function lasting(t: Ticket, remember: string): Partial<Decision> {
  if (t.action !== confirm) return {};
  const [how, what] = remember.split(' ');
  return what ? { remember: how, remember_as: what } : { remember: how };
}

// useTool is what the agent's host says of a tool; undefined: it is not known here.
function useTool(agent: string, name: string) {
  const found = agent ? detail(agent).value : undefined;
  return found && 'tools' in found ? found.tools.find((t) => t.name === name) : undefined;
}

export function HiddenNote({ count, onTakeOut }: { count: number; onTakeOut?: () => void }) {
  return (
    <div class="note">
      <Icon name="warn" />
      <p class="grow">
        <strong>{count === 1 ? '1 hidden character' : `${count.toLocaleString()} hidden characters`}</strong> {count === 1 ? 'is shown as a code. It changes' : 'are shown as codes. They change'} how the text reads, not what the tool gets.{' '}
        {onTakeOut && <button type="button" class="link" onClick={onTakeOut}>{count === 1 ? 'Take it out' : 'Take them out'}</button>}
      </p>
    </div>
  );
}

// Again asks for which later calls the answer holds.
function Again({ ticket, value, onChange }: { ticket: Ticket; value: string; onChange: (value: string) => void }) {
  const { rule } = (ticket.parameters ?? {}) as { rule?: string };
  const covered = rule ? `what rule ${coded(rule)} asks about` : coded(ticket.tool_name);
  const choices = [
    ['once', 'every time'],
    ['run call', 'not for this same call, in this run'],
    ['thread call', 'not for this same call, in this thread'],
    ['run rule', `not for ${covered}, in this run`],
    ['thread rule', `not for ${covered}, in this thread`],
  ];
  return (
    <fieldset class="again">
      <legend class="label">Ask me again?</legend>
      {choices.map(([id, words]) => (
        <label key={id} class="pick"><input type="radio" name={`again ${ticket.suspension_id}`} value={id} checked={value === id} onChange={() => onChange(id)} />{words}</label>
      ))}
    </fieldset>
  );
}

interface ButtonProperties {
  card: { current: HTMLElement | null };
  busy: boolean;
  changes: number;
  onApprove: () => void;
  onDeny: (reason: string) => void;
}

function Buttons({ card, busy, changes, onApprove, onDeny }: ButtonProperties) {
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const back = () => {
    setDenying(false);
    requestAnimationFrame(() => card.current?.querySelector<HTMLElement>('[data-key="d"]')?.focus());
  };
  useEscape(denying, back);
  if (denying) {
    return (
      <form class="deny" onSubmit={(e) => (e.preventDefault(), onDeny(reason.trim()))}>
        <label>
          Reason, which the model reads
          <input value={reason} dir="auto" ref={focusOnce} onInput={(e) => setReason(e.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="submit" class="danger" disabled={busy}>Deny</button>
          <button type="button" onClick={back}>Back</button>
        </div>
      </form>
    );
  }
  return (
    <footer>
      <button type="button" class="primary" data-key="a" disabled={busy} onClick={onApprove}>
        {changes ? `Approve with ${changes} change${changes === 1 ? '' : 's'}` : 'Approve'} <kbd aria-hidden="true">a</kbd>
      </button>
      <button type="button" data-key="d" disabled={busy} onClick={() => setDenying(true)}>Deny… <kbd aria-hidden="true">d</kbd></button>
      <span class="grow" />
      <span class="meta">The run sleeps until you answer.</span>
    </footer>
  );
}
