// node scenarios.mjs URL PACKAGE: prints what a client of that package comes to in each
// scenario, as one JSON object.
import { open, plain, run, say, stored, strict } from './client.mjs';

const [base, name] = process.argv.slice(2);
strict();
const make = await open(name, base);
const thread = scenario => `${scenario}-${name}`;
const report = {};

/** What the client has is what the server has. */
async function same(agent) {
  const server = plain(await stored(base, agent.threadId));
  const client = plain(agent.messages);
  return JSON.stringify(server) === JSON.stringify(client) || { server, client };
}

async function talk(scenario, text, options) {
  const agent = make(thread(scenario), options);
  const { types, outcome, error } = await say(agent, `${thread(scenario)}.1`, text);
  return { types, outcome: outcome?.type, error: error?.code, messages: plain(agent.messages), same: await same(agent) };
}

report.text = await talk('text', 'hello');
report.tools = await talk('tools', 'echo: hello');
report.parallel = await talk('parallel', 'parallel: a, b');
report.reasoning = await talk('reasoning', 'think: hard');
report.error = await talk('error', 'fail');
report.agent = await talk('agent', 'echo: by path', { path: '/v1/ag-ui/agents/demo/runs' });
report.thread = await talk('thread', 'echo: by path', { path: `/v1/ag-ui/threads/${thread('thread')}/runs` });

report.file = await talk('file', [
  { type: 'text', text: 'look' },
  { type: 'image', source: { type: 'data', value: 'aGk=', mimeType: 'image/png' } },
]);

/** Lets danger wait for a person, and answers. */
async function decide(scenario, text, answer) {
  const agent = make(thread(scenario));
  const asked = await say(agent, `${thread(scenario)}.1`, `approve: ${text}`);
  const [interrupt] = agent.pendingInterrupts;
  const resume = [{ interruptId: interrupt.id, ...answer }];
  const { types, outcome } = await run(agent, { resume });
  return {
    reason: interrupt.reason, bound: asked.newMessages.some(m => m.toolCalls?.some(c => c.id === interrupt.toolCallId)),
    asked: asked.types.slice(-2), outcome: outcome?.type, types, pending: agent.pendingInterrupts.length,
    messages: plain(agent.messages), same: await same(agent),
  };
}

report.approved = await decide('approved', `approved ${name}`, { status: 'resolved', payload: { approved: true } });
report.denied = await decide('denied', `denied ${name}`, { status: 'resolved', payload: { approved: false, reason: 'not today' } });
report.cancelled = await decide('cancelled', `cancelled ${name}`, { status: 'cancelled' });

{ // an input without an answer: the client itself refuses to send one, so that it is sent by hand
  const id = thread('unanswered');
  await say(make(id), `${id}.1`, `approve: unanswered ${name}`);
  const other = make(id);
  const { types, error } = await say(other, `${id}.2`, 'echo: never mind');
  report.unanswered = { types, error: error?.code };
}

/** Calls of the frontend's tools: the client runs them and says what came of it. */
async function frontend(scenario, text, parameters, answer) {
  const agent = make(thread(scenario));
  const asked = await say(agent, `${thread(scenario)}.1`, text, parameters);
  const calls = agent.messages.at(-1).toolCalls.map(c => c.id);
  calls.forEach((toolCallId, i) => agent.addMessage({ id: `${thread(scenario)}.result.${i}`, role: 'tool', toolCallId, ...answer }));
  const { types, outcome } = await run(agent, parameters);
  return {
    asked: asked.types.slice(-2), first: asked.outcome?.type, pendingCalls: asked.outcome?.pendingToolCallIds?.length,
    outcome: outcome?.type, types, messages: plain(agent.messages), same: await same(agent),
  };
}

const tools = [{
  name: 'navigate', description: 'Opens a page',
  parameters: { type: 'object', properties: { to: { type: 'string' } }, required: ['to'], additionalProperties: false },
}];
report.frontend = await frontend('frontend', 'call: navigate {"to":"/home"}', { tools }, { content: '{"opened":true}' });
report.frontendText = await frontend('frontendText', 'call: navigate {"to":"/home"}', { tools }, { content: 'opened' });
report.askUser = await frontend('askUser', 'ask: when?', {}, { content: 'now' });
report.frontendError = await frontend('frontendError', 'call: navigate {"to":"/home"}', { tools }, { content: 'no such page', error: 'no such page' });

{ // a name that the agent has
  const agent = make(thread('taken'));
  report.taken = await say(agent, `${thread('taken')}.1`, 'hello', { tools: [{ ...tools[0], name: 'echo' }] }).then(
    () => 'accepted', error => String(error.message).slice(0, 8));
}

{ // state: what one client has sent, another one reads, and changes a part of
  const id = thread('state');
  const agent = make(id, { initialState: { list: ['a'], n: 1 } });
  const first = await say(agent, `${id}.1`, 'hello');
  const kept = structuredClone(agent.state);
  const reader = make(id, { initialMessages: agent.messages });
  const second = await say(reader, `${id}.2`, 'hello again');
  reader.state = { list: ['b'] };
  await say(reader, `${id}.3`, 'hello again');
  const last = make(id, { initialMessages: reader.messages });
  await say(last, `${id}.4`, 'hello again');
  report.state = { states: first.states, kept, read: second.states, merged: last.state };
}

{ // said again: the history is cut to the person's message, and the agent is run
  const id = thread('again');
  const agent = make(id);
  await say(agent, `${id}.1`, 'echo: one');
  await say(agent, `${id}.2`, 'echo: two');
  const before = agent.messages.at(-1).id;
  agent.messages = agent.messages.slice(0, agent.messages.findIndex(m => m.id === `${id}.2`) + 1);
  await run(agent);
  report.again = { different: agent.messages.at(-1).id !== before, messages: plain(agent.messages), same: await same(agent) };
}

console.log(JSON.stringify(report));
