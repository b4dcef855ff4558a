// The answers that were given here, and those of others that were faster.
import { signal } from '@preact/signals';
import { Refused, call, get, newID } from './api';
import type { JSONValue, Run, StoredStep, Ticket } from './types';

// Outcome is the answer that counts.
export interface Outcome {
  action: string; // resume or cancel
  others: boolean; // another user or tab gave it
  reason?: string;
}

// outcomes are those that are known, by run and suspension, before the run has read them.
export const outcomes = signal<Record<string, Outcome>>({});

const keyOf = (run: string, suspension: string) => `${run} ${suspension}`;

export const outcomeOf = (run: string, t: { run_id?: string; suspension_id: string; decision?: Ticket['decision'] }): Outcome | undefined =>
  outcomes.value[keyOf(t.run_id ?? run, t.suspension_id)] ?? (t.decision && { action: t.decision.action, others: false, reason: t.decision.reason });

export interface Decision {
  action: 'resume' | 'cancel';
  payload?: JSONValue;
  arguments?: { [name: string]: JSONValue };
  reason?: string;
  remember?: string;
  remember_as?: string;
}

// decide sends an answer, to the run that has asked or to one that has started it. If another one was faster, it returns that.
export async function decide(run: string, ticket: { run_id?: string; suspension_id: string; tool_call_id: string }, d: Decision): Promise<Outcome> {
  const asks = ticket.run_id ?? run;
  let outcome: Outcome = { action: d.action, others: false, reason: d.reason };
  try {
    await call('POST', `v1/runs/${run}/decision`, { ...(asks !== run && { run_id: asks }), suspension_id: ticket.suspension_id, decision_id: newID(), ...d });
  } catch (e) {
    if (!(e instanceof Refused && (e.status === 409 || e.status === 404))) throw e;
    const won = await winner(asks, ticket);
    if (!won) throw e;
    outcome = { ...won, others: true };
  }
  outcomes.value = { ...outcomes.value, [keyOf(asks, ticket.suspension_id)]: outcome };
  return outcome;
}

// winner is the answer that the host has: with the ticket until the run has read it, then
// with the call.
async function winner(run: string, ticket: { suspension_id: string; tool_call_id: string }): Promise<Omit<Outcome, 'others'> | undefined> {
  try {
    const { tickets } = await get<Run>(`v1/runs/${run}`);
    const open = tickets?.find((t) => t.suspension_id === ticket.suspension_id);
    if (open) return open.decision;
    const { steps } = await get<{ steps: StoredStep[] }>(`v1/runs/${run}/steps`);
    const made = steps.flatMap((s) => s.calls ?? []).findLast((c) => c.id === ticket.tool_call_id);
    if (!made) return undefined;
    return { action: made.action ?? (['denied', 'cancelled', 'not_executed'].includes(made.status) ? 'cancel' : 'resume'), reason: made.reason };
  } catch {
    return undefined; // the refusal says enough
  }
}
