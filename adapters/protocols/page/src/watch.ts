// What the page does by itself while it is open: it reads again what may have changed, and
// says aloud how the open run is.
import { effect, signal, untracked } from '@preact/signals';
import type { Change } from './api';
import { asksYou } from './asked';
import type { Conversation } from './conversation';
import { recordOf } from './follow';
import { moment } from './format';
import { approvals, threads } from './lists';
import { hear, tell } from './tabs';

// told is what a screen reader says: states and whole responses.
export const told = signal('');

// watchTab reads the open thread again when a person comes back to the tab, when another
// tab has changed something, and now and then while a run waits.
export function watchTab(conversation: Conversation): () => void {
  const look = () => {
    if (!document.hidden && (!conversation.fresh || conversation.active.value) && conversation.loaded.value) void conversation.sync().catch(() => {});
  };
  const timer = setInterval(() => conversation.active.value?.connection.value !== 'open' && look(), 5000);
  document.addEventListener('visibilitychange', look);
  addEventListener('focus', look);
  const deaf = hear((c) => follows(conversation, c, look));
  const end = effect(() => sayRun(conversation));
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', look);
    removeEventListener('focus', look);
    deaf();
    end();
  };
}

// follows takes up what another tab did with the open thread.
function follows(conversation: Conversation, c: Change, look: () => void): void {
  if (conversation.fresh && !conversation.active.value) return;
  const active = conversation.active.value;
  const own = c.path === `v1/threads/${encodeURIComponent(conversation.id)}`;
  if (c.method === 'DELETE' && own) void conversation.load();
  else if (c.suspension && active && c.path.includes(active.id)) void conversation.decided(active, c.suspension);
  else if (own || c.path.startsWith('v1/runs') || c.path.includes(encodeURIComponent(conversation.id))) look();
}

let before = '';

// sayRun says how the open run is, each state once.
function sayRun(conversation: Conversation): void {
  const r = conversation.active.value;
  r?.version.value;
  const asks = r?.tickets.find((t) => asksYou(t.ticket));
  const sleeps = r?.status === 'waiting' && r.tickets.find((t) => t.ticket.kind === 'timer');
  const child = r && !asks ? r.children.tickets[0] : undefined;
  const now = !r ? '' : r.complete ? `The agent says: ${lastText(r.id)}` : asks ? `Waiting for you: ${asks.call.name}` : child ? `Waiting for you: ${child.tool_name} of ${child.agent_id || 'a child run'}` : sleeps ? `${sleeps.call.name} waits until ${moment(sleeps.ticket.wakes_at ?? 0)}.` : 'The agent works.';
  if (now === before) return;
  before = now;
  told.value = now;
  if (r) tell(`v1/runs/${r.id}`);
  untracked(() => {
    void threads.read();
    void approvals.read();
  });
}

const lastText = (run: string) => recordOf(run).steps.at(-1)?.blocks.filter((b) => b.type === 'text').map((b) => b.text).join(' ').slice(0, 2000) ?? '';
