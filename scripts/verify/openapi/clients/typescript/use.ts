// Uses a local host by openapi-fetch and the types that openapi-typescript has made, in
// api.ts beside it: use.ts URL. It prints what ../expected.txt has.
import createClient from 'openapi-fetch';
import type { components, paths } from './api.js';

type Run = components['schemas']['Run'];
const thread = 'made-by-typescript';
const client = createClient<paths>({ baseUrl: process.argv[2] });
const path = { thread };

const say = (text: string) =>
  client.POST('/v1/threads/{thread}/messages', { params: { path }, body: { agentId: 'demo', messages: [{ role: 'user', content: text }] } });

async function run(text: string): Promise<Run> {
  const { data, response } = await say(text);
  if (!data) throw new Error(`status ${response.status}`);
  if (text.startsWith('echo')) console.log('run queued:', response.status, data.status);
  return ended(data.run_id);
}

// ended waits until a run is over or waits for a decision.
async function ended(id: string): Promise<Run> {
  for (let i = 0; i < 200; i++) {
    const { data } = await client.GET('/v1/runs/{run}', { params: { path: { run: id } } });
    if (data?.status === 'waiting') {
      const ticket = data.tickets![0];
      console.log('run waiting:', ticket.tool_name, JSON.stringify(ticket.arguments).replace(':', ': '), ticket.kind);
      return data;
    }
    if (data?.status === 'done') {
      console.log(`run done: ${data.termination!.type}, ${data.response}`);
      return data;
    }
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  throw new Error(`run ${id} does not end`);
}

async function approvals(): Promise<void> {
  const { data } = await client.GET('/v1/approvals', { params: { query: { limit: 10 } } });
  console.log(`approvals: ${data!.approvals.length}, has_more ${data!.has_more}`);
}

console.log('thread made:', (await client.POST('/v1/threads', { body: { threadId: thread } })).response.status);
await run('echo: hello');
const waiting = await run('approve: ship it');
await approvals();
for (const what of ['decision', 'decision again']) {
  const { data, response } = await client.POST('/v1/runs/{run}/decision', {
    params: { path: { run: waiting.run_id } },
    body: { suspension_id: waiting.tickets![0].suspension_id, action: 'resume', decision_id: 'd1' },
  });
  console.log(`${what}: ${response.status} ${data!.status}, duplicate ${data!.duplicate}`);
}
await ended(waiting.run_id);
await approvals();
const cancelled = await client.POST('/v1/runs/{run}/cancel', { params: { path: { run: waiting.run_id } } });
console.log('cancel of a run that is over:', cancelled.response.status, cancelled.error!.code);
const blank = await say(' ');
console.log('a message that is blank:', blank.response.status, blank.error!.code);
console.log('thread deleted:', (await client.DELETE('/v1/threads/{thread}', { params: { path } })).response.status);
const read = await client.GET('/v1/threads/{thread}', { params: { path } });
console.log('thread read:', read.response.status, read.error!.code);
