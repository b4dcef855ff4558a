// Talks to an agent that waits for two others with the real AI SDK client, approves what one
// of them asks, and prints, as one line of JSON, what the client saw.
//
//   node team.mjs <base-url> [package]
//
// Exits non-zero when the client reports an error.
import { randomUUID } from 'node:crypto';
import { fail, open, stored } from './client.mjs';

const [base, name = 'ai'] = process.argv.slice(2);
if (!base) {
  console.error('usage: node team.mjs <base-url> [package]');
  process.exit(2);
}
const ai = await open(name);
const id = `team-${randomUUID()}`;
const finished = [];
const activities = []; // of the agents' runs, as they come
let wake = () => {};
const chat = new ai.Chat({
  id,
  transport: new ai.DefaultChatTransport({ api: `${base}/v1/ai-sdk/chat`, body: { agentId: 'coordinator' } }),
  sendAutomaticallyWhen: state => ai.lastAssistantMessageIsCompleteWithApprovalResponses(state),
  onData: ({ type, data }) => {
    if (type === 'data-activity-snapshot' && data.activityType === 'agent_run') activities.push(data.content);
  },
  onError: error => fail(error.message),
  onFinish: event => { finished.push(event); wake(); },
});

/** Waits for the end of the n-th response. */
async function response(n) {
  while (finished.length < n) await new Promise(resolve => { wake = resolve; });
  return finished[n - 1].finishReason;
}

/** A part without its ids. Of what an agent has responded, the text alone. */
function plain({ type, toolName, state, text, input, output, approval }) {
  return { type, toolName, state, text, input, output: output?.data?.response, approved: approval?.approved };
}

/** The parts that show no call of another agent's run: its result may come after the end. */
const own = parts => parts.filter(part => part.type !== 'dynamic-tool').map(plain);

await chat.sendMessage({ text: `team: researcher slow: 12 | buyer approve: order ${name}` });
const asked = await response(1);
const waiting = chat.lastMessage.parts.map(plain);
const kept = (await stored(base, id, ai.validateUIMessages)).at(-1).parts.map(plain);
const [question] = chat.lastMessage.parts.filter(part => part.state === 'approval-requested');
const first = chat.lastMessage.id;
await chat.addToolApprovalResponse({ id: question.approval.id, approved: true });
const ended = await response(2);
await new Promise(resolve => { setTimeout(resolve, 100); }); // a request that should not be would have begun
const of = agent => activities.filter(a => a.agent_id === agent);
console.log(JSON.stringify({
  finishReasons: [asked, ended],
  responses: finished.length,
  status: chat.status,
  sameMessage: chat.lastMessage.id === first,
  researcher: { words: of('researcher').some(a => a.status === 'running' && a.text?.startsWith('w1')), last: of('researcher').at(-1)?.status },
  buyer: { waited: of('buyer').some(a => a.status === 'waiting') },
  waiting,
  same: JSON.stringify(kept) === JSON.stringify(waiting) || kept,
  asks: chat.lastMessage.parts.some(part => part.state === 'approval-requested'),
  parts: own(chat.lastMessage.parts),
  stored: own((await stored(base, id, ai.validateUIMessages)).at(-1).parts),
}));
