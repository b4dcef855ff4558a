// A call that waits for an answer: what it would do, and the answer.
import { useEffect, useState } from 'preact/hooks';
import { Refused, call as request, newID } from './api';
import { focusOnce } from './focus';
import { SchemaForm } from './form';
import { moment } from './format';
import { Icon } from './icons';
import { JSONView } from './json';
import { Problem } from './problem';
import type { JSONValue, Schema, Ticket } from './types';

export interface Waiting {
  run: string;
  suspension: string;
  tool: string;
  arguments: JSONValue;
  action: string;
  message?: string;
  mode: Ticket['resume_mode'];
  schema?: Schema;
  client?: boolean; // the client gives the output: nobody approves anything
  deadline?: number;
  decided?: string; // an answer was accepted, and the run has not read it yet
}

export const ofTicket = (run: string, t: Ticket): Waiting => ({
  run, suspension: t.suspension_id, tool: t.tool_name, arguments: t.arguments, action: t.action, message: t.message,
  mode: t.resume_mode, schema: t.response_schema, client: t.kind === 'client', deadline: t.expires_at, decided: t.decision?.action,
});

// TicketCard asks for the answer. onDecided is told once the host has it.
export function TicketCard({ waiting, onDecided }: { waiting: Waiting; onDecided: (suspension: string) => void }) {
  const [busy, setBusy] = useState(false);
  const [sent, setSent] = useState<string | undefined>(waiting.decided);
  const [problem, setProblem] = useState<unknown>(undefined);
  useEffect(() => setSent(waiting.decided), [waiting.suspension, waiting.decided]);
  const decide = async (body: Record<string, unknown>) => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      await request('POST', `v1/runs/${waiting.run}/decision`, { suspension_id: waiting.suspension, decision_id: newID(), ...body });
      setSent(String(body.action));
      onDecided(waiting.suspension);
    } catch (e) {
      setProblem(e);
      if (e instanceof Refused && (e.status === 409 || e.status === 404)) onDecided(waiting.suspension); // somebody else was faster: show what they said
    }
    setBusy(false);
  };
  const question = waiting.message || (waiting.client ? `${waiting.tool} waits for its answer.` : `May the agent use the tool ${waiting.tool}?`);
  return (
    <section class="ticket" role="group" aria-label={`Waiting: ${waiting.tool}`} tabIndex={-1} data-ticket={waiting.suspension}>
      <p class="ticket-title">
        <Icon name="hand" /> <strong>{question}</strong>
      </p>
      <JSONView value={waiting.arguments} label={`arguments of ${waiting.tool}`} />
      {waiting.deadline ? <p class="meta">Until {moment(waiting.deadline)}; then the run ends.</p> : null}
      {problem !== undefined && <Problem error={problem} />}
      {sent ? (
        <p class="meta" role="status">{sent === 'resume' ? 'Answered' : 'Denied'}; the run continues.</p>
      ) : waiting.mode === 'replay_tool_call' ? (
        <Approve busy={busy} decide={(body) => void decide(body)} />
      ) : (
        <Answer waiting={waiting} busy={busy} decide={(body) => void decide(body)} />
      )}
    </section>
  );
}

interface Deciding {
  busy: boolean;
  decide: (body: Record<string, unknown>) => void;
}

function Approve({ busy, decide }: Deciding) {
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  const [remember, setRemember] = useState('once');
  const lasting = remember === 'once' ? {} : { remember: remember.split(' ')[0], remember_as: remember.split(' ')[1] };
  if (denying) {
    return (
      <form class="deny" onSubmit={(e) => (e.preventDefault(), decide({ action: 'cancel', ...(reason.trim() && { reason: reason.trim() }), ...lasting }))}>
        <label>
          Reason, which the model reads
          <input value={reason} ref={focusOnce} onInput={(e) => setReason(e.currentTarget.value)} />
        </label>
        <div class="actions">
          <button type="submit" class="danger" disabled={busy}>Deny</button>
          <button type="button" onClick={() => setDenying(false)}>Back</button>
        </div>
      </form>
    );
  }
  return (
    <div class="actions">
      <button type="button" class="primary" data-key="a" disabled={busy} onClick={() => decide({ action: 'resume', ...lasting })}>Approve</button>
      <button type="button" data-key="d" disabled={busy} onClick={() => setDenying(true)}>Deny…</button>
      <label class="inline">
        Remember
        <select value={remember} onChange={(e) => setRemember(e.currentTarget.value)}>
          <option value="once">no, this once</option>
          <option value="run call">this call, in this run</option>
          <option value="run rule">what this rule asks about, in this run</option>
          <option value="thread call">this call, in this thread</option>
          <option value="thread rule">what this rule asks about, in this thread</option>
        </select>
      </label>
    </div>
  );
}

function Answer({ waiting, busy, decide }: Deciding & { waiting: Waiting }) {
  return (
    <>
      <SchemaForm
        schema={waiting.schema} verb={waiting.mode === 'pass_decision_to_tool' ? 'Run with these arguments' : 'Answer'} busy={busy}
        initial={waiting.mode === 'pass_decision_to_tool' ? waiting.arguments : undefined} onSubmit={(payload) => decide({ action: 'resume', payload })}
      />
      <div class="actions">
        <button type="button" disabled={busy} onClick={() => decide({ action: 'cancel' })}>Decline</button>
      </div>
    </>
  );
}
