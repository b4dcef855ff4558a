// Calls that wait for a time: when they wake, and who has woken them.
import { useEffect, useState } from 'preact/hooks';
import { decide, outcomeOf, type Decision } from './decisions';
import { moment } from './format';
import { Shown, coded } from './hidden';
import { Icon } from './icons';
import { Problem } from './problem';
import type { ShownCall } from './record';
import { tell } from './told';
import type { StepCall, Ticket } from './types';

// isTimer reports whether a call waits, or has waited, for a time.
export const isTimer = (c: ShownCall, s: StepCall | undefined) => (c.ticket ? c.ticket.kind === 'timer' : !!s?.wakes_at);

// wakeWord says how a wait for a time ended; empty: it has not, or a person has answered a question.
export function wakeWord(timer: boolean, woken: boolean, action: string): string {
  if (woken) return 'Woken by the clock';
  if (!timer || !action) return '';
  return action === 'resume' ? 'Woken early' : 'Cancelled';
}

// wokenAs is wakeWord in a line, for a call that was woken.
export function wokenAs(c: ShownCall, s: StepCall | undefined): string {
  const word = wakeWord(isTimer(c, s), s?.woken ?? !!c.woken, s?.action ?? c.answered ?? '');
  return word === 'Cancelled' ? '' : word.toLowerCase();
}

interface Properties {
  run: string;
  ticket: Ticket;
  onDecided: (suspension: string) => void; // called when the host has a decision, and when the time has come
}

const late = 1000; // after the time to wake, until the run is read again
const longest = 2 ** 31 - 1; // of a timer of the browser

// TimerCard is a call that waits for a time, with the buttons to wake or cancel it before.
export function TimerCard({ run, ticket, onDecided }: Properties) {
  const [busy, setBusy] = useState(false);
  const [problem, setProblem] = useState<unknown>(undefined);
  const outcome = outcomeOf(run, ticket);
  const at = ticket.wakes_at ?? 0;
  useEffect(() => {
    const wait = at - Date.now() + late;
    if (wait > longest) return;
    const timer = setTimeout(() => onDecided(ticket.suspension_id), Math.max(late, wait));
    return () => clearTimeout(timer);
  }, [run, ticket.suspension_id, at]);
  const send = async (d: Decision) => {
    if (busy) return;
    setBusy(true);
    setProblem(undefined);
    try {
      const won = await decide(run, ticket, d);
      tell(won.others ? faster : `${d.action === 'resume' ? 'Woken early' : 'Cancelled'}: ${coded(ticket.tool_name)}.`);
      onDecided(ticket.suspension_id);
    } catch (e) {
      setProblem(e);
    }
    setBusy(false);
  };
  return (
    <div class="asked" role="group" aria-label={`Waits for a time: ${coded(ticket.tool_name)}`}>
      <Icon name="clock" />
      <strong class="grow" dir="auto"><Shown text={ticket.message || ticket.tool_name} prose={!!ticket.message} /></strong>
      <span class="meta">Wakes at <time dateTime={new Date(at).toISOString()}>{moment(at)}</time></span>
      {outcome ? (
        <span role="status">{outcome.others ? faster : outcome.action === 'resume' ? 'Woken early; the run continues.' : 'Cancelled; the run continues.'}</span>
      ) : (
        <>
          <button type="button" disabled={busy} onClick={() => void send({ action: 'resume' })}>Wake now</button>
          <button type="button" disabled={busy} onClick={() => void send({ action: 'cancel' })}>Cancel</button>
        </>
      )}
      {problem !== undefined && <Problem error={problem} />}
    </div>
  );
}

const faster = 'The clock or another user was faster; the run continues.';
