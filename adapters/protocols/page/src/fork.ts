// New threads and runs that are made of a run.
import { call, get, newID, query, segment } from './api';
import type { RunRecord } from './record';
import type { Message } from './types';

// before returns the message that comes before a step in a run's thread. If that is the
// result of a call it is the turn with the call, which a copy has with its results.
async function before(record: RunRecord, step: number): Promise<Message | undefined> {
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { messages: Message[]; next_cursor: string | null } = await get(`v1/threads/${segment(record.thread)}/messages${query({ limit: 200, order: 'desc', cursor })}`);
    for (const m of page.messages) {
      if (m.pending) continue;
      if (m.run_id === record.id ? m.role === 'user' || (m.role === 'assistant' && (m.step ?? 0) < step) : (m.run_id ?? '') < record.id && m.role !== 'tool') return m;
    }
    cursor = page.next_cursor;
  }
  return undefined;
}

const fork = async (thread: string, at: string) =>
  (await call<{ thread_id: string }>('POST', `v1/threads/${segment(thread)}/fork`, { at }, { 'idempotency-key': newID() })).thread_id;

// forkBefore makes a thread of what a run's thread held before a step. Without any message
// before it the thread is a new one.
export async function forkBefore(record: RunRecord, step: number): Promise<string> {
  const m = await before(record, step);
  return m ? fork(record.thread, m.id) : '';
}

// forkAfter makes a thread of what a run's thread held after a step, or after the run.
export async function forkAfter(record: RunRecord, step: number): Promise<string> {
  return forkBefore(record, step + 1);
}

// runAgain repeats a run and returns the id of the new one. A run that failed goes on after
// its last commit. Any other is asked again in a new thread, so that the first one stays.
export async function runAgain(record: RunRecord): Promise<string> {
  const end = record.run.value?.termination ?? record.termination;
  if (end?.type === 'error') return (await call<{ run_id: string }>('POST', `v1/runs/${record.id}/${end.code === 'dead_letter' ? 'retry' : 'continue'}`)).run_id;
  const asked = await inputOf(record);
  const thread = asked.before ? await fork(record.thread, asked.before) : newID();
  const got = await call<{ run_id: string }>('POST', `v1/threads/${segment(thread)}/messages`, {
    agentId: record.agent || undefined, messages: asked.input.map(({ role, content }) => ({ id: newID(), role, content })),
  }, { 'idempotency-key': newID() });
  return got.run_id;
}

// inputOf reads what a run was asked, and the id of the message before that.
async function inputOf(record: RunRecord): Promise<{ input: Message[]; before: string }> {
  const input: Message[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page: { messages: Message[]; next_cursor: string | null } = await get(`v1/threads/${segment(record.thread)}/messages${query({ limit: 200, order: 'desc', cursor })}`);
    for (const m of page.messages) {
      if (m.run_id === record.id) {
        if (m.role === 'user' && !m.repair) input.unshift(m);
        else if (m.role === 'assistant') input.length = 0; // what was said later was steered to it
      } else if (input.length && m.role !== 'tool') return { input, before: m.id };
    }
    cursor = page.next_cursor;
  }
  if (!input.length) throw new Error('The thread no longer has the input of this run.');
  return { input, before: '' };
}
