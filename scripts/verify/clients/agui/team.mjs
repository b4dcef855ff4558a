// node team.mjs URL PACKAGE: an agent that waits for two others, with a client of that package,
// which answers the interrupt of one of them. Prints what the client has, as one JSON object.
import { open, plain, run, say, strict } from './client.mjs';

const [base, name] = process.argv.slice(2);
strict();
const agent = (await open(name, base))(`team-${name}`, { path: '/v1/ag-ui/agents/coordinator/runs' });
const activities = []; // of the agents' runs, as they come
agent.subscribe({
  onActivitySnapshotEvent: ({ event }) => {
    if (event.activityType === 'agent_run') activities.push(structuredClone(event.content));
  },
});
const of = id => activities.filter(a => a.agent_id === id);

const asked = await say(agent, 'm1', `team: researcher slow: 12 | buyer approve: order ${name}`);
const [interrupt] = agent.pendingInterrupts;
const shown = agent.messages.filter(m => m.role === 'activity').map(m => `${m.content.agent_id} ${m.content.status}`).sort();
const ended = await run(agent, { resume: [{ interruptId: interrupt.id, status: 'resolved', payload: { approved: true } }] });
console.log(JSON.stringify({
  outcomes: [asked.outcome?.type, ended.outcome?.type],
  interrupts: asked.outcome?.interrupts?.length,
  about: [interrupt.reason, interrupt.metadata?.reveille?.agent_id, interrupt.metadata?.reveille?.tool_name],
  researcher: { words: of('researcher').some(a => a.status === 'running' && a.text?.startsWith('w1')), last: of('researcher').at(-1)?.status },
  buyer: { waited: of('buyer').some(a => a.status === 'waiting') },
  shown,
  pending: agent.pendingInterrupts.length,
  messages: plain(agent.messages.filter(m => m.role !== 'activity')),
}));
