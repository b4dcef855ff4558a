// The order of what waits, what a row of it is called, and what goes into a batch.
import { isQuestion, wordsOf } from './asked';
import { hiddenIn } from './characters';
import { decide, type Decision } from './decisions';
import type { Approval, JSONValue } from './types';

const hour = 3_600_000;

export interface Group {
  name: string;
  items: Approval[];
}

// groups sorts what waits: what ends within an hour first, then by deadline, and what has
// none by its age.
export function groups(items: Approval[], now: number): Group[] {
  const sorted = items.toSorted((a, b) => (a.expires_at || Infinity) - (b.expires_at || Infinity) || a.created_at - b.created_at);
  const soon = (a: Approval) => !!a.expires_at && a.expires_at - now < hour;
  return [
    { name: 'Ends soon', items: sorted.filter(soon) },
    { name: 'No hurry', items: sorted.filter((a) => !soon(a)) },
  ].filter((g) => g.items.length);
}

// rowOf is what a row is called: the question, or the tool and its main arguments, each by
// itself.
export function rowOf(a: Approval): string[] {
  if (isQuestion(a)) return [wordsOf(a)];
  const values = a.arguments && typeof a.arguments === 'object' ? Object.values(a.arguments as Record<string, JSONValue>) : [a.arguments];
  const plain = values.filter((v) => ['string', 'number'].includes(typeof v) && v !== '').map(String);
  return [a.tool_name, ...plain.slice(0, 2).map((v) => v.slice(0, 100).replace(/[\ud800-\udbff]$/, ''))];
}

// against is why a call cannot be decided in one batch with others; empty: it can.
export function against(a: Approval, changed: boolean, chosen: Approval[]): string {
  if (isQuestion(a)) return 'Answer a question by itself.';
  if (hiddenIn(a.arguments) + hiddenIn(a.tool_name) > 0) return 'It has hidden characters: decide it by itself.';
  if (changed) return 'It has changes: decide it by itself.';
  if (a.resume_mode !== 'replay_tool_call') return 'Its arguments are its answer: decide it by itself.';
  const other = chosen.find((c) => c.tool_name !== a.tool_name);
  return other ? `A batch has calls of one tool: ${other.tool_name}.` : '';
}

const atOnce = 4;

// decideAll sends one decision each, and returns the failures by suspension.
export async function decideAll(items: Approval[], d: Decision): Promise<Record<string, unknown>> {
  const failed: Record<string, unknown> = {};
  const todo = [...items];
  const work = async () => {
    for (let a = todo.shift(); a; a = todo.shift()) {
      try {
        await decide(a.run_id, a, a.action === 'tool:PermissionConfirm' ? { ...d, remember: 'once' } : d);
      } catch (e) {
        failed[a.suspension_id] = e;
      }
    }
  };
  await Promise.all(Array.from({ length: atOnce }, work));
  return failed;
}
