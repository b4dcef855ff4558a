// Starts an agent as an editor does, speaks with it over its standard input and output
// with the official client, and prints, as one line of JSON, what the client made of it.
//
//   node talk.mjs <command> [argument...]
//
// Exits non-zero when the client refuses what the agent says.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { Readable, Writable } from 'node:stream';
import { client, methods, ndJsonStream, PROTOCOL_VERSION } from '@agentclientprotocol/sdk';

const [command, ...args] = process.argv.slice(2);
if (!command) {
  console.error('usage: node talk.mjs <command> [argument...]');
  process.exit(2);
}
const agent = spawn(command, args, { stdio: ['pipe', 'pipe', 'inherit'] });

let updates = [];
let questions = [];
let answer = () => ({ outcome: 'cancelled' });
let seen = () => {};

const app = client({ name: 'talk' })
  .onRequest(methods.client.session.requestPermission, ({ params }) => {
    questions.push(params.options.map(option => option.kind));
    seen(params.sessionId);
    return answer(params);
  })
  .onNotification(methods.client.session.update, ({ params }) => {
    updates.push(params.update);
    seen(params.sessionId);
  });

const choose = kind => ({ options }) => ({
  outcome: { outcome: 'selected', optionId: options.find(option => option.kind === kind).optionId },
});
const dismiss = () => ({ outcome: { outcome: 'cancelled' } });

const report = await app.connectWith(ndJsonStream(Writable.toWeb(agent.stdin), Readable.toWeb(agent.stdout)), async ctx => {
  const open = async () => (await ctx.request(methods.agent.session.new, { cwd: process.cwd(), mcpServers: [] })).sessionId;
  const prompt = async (sessionId, text) => {
    updates = [];
    questions = [];
    const { stopReason } = await ctx.request(methods.agent.session.prompt, { sessionId, prompt: [{ type: 'text', text }] });
    return {
      stopReason,
      asked: questions.length,
      said: updates.filter(u => u.sessionUpdate === 'agent_message_chunk').map(u => u.content.text).join(''),
      thought: updates.filter(u => u.sessionUpdate === 'agent_thought_chunk').map(u => u.content.text).join(''),
      calls: updates.filter(u => u.sessionUpdate.startsWith('tool_call')).map(u => u.status),
    };
  };

  const initialized = await ctx.request(methods.agent.initialize, { protocolVersion: PROTOCOL_VERSION, clientCapabilities: {} });
  const out = { version: initialized.protocolVersion, load: initialized.agentCapabilities.loadSession };
  const session = await open();
  out.echo = await prompt(session, 'echo: hello');
  out.think = await prompt(session, 'think: twice');
  answer = choose('allow_always');
  out.approved = await prompt(session, 'approve: one');
  out.options = questions[0];
  out.remembered = await prompt(session, 'approve: two');

  const other = await open();
  answer = choose('reject_always');
  out.rejected = await prompt(other, 'approve: one');
  out.refused = await prompt(other, 'approve: two');

  // A client that cancels answers what it was asked with cancelled.
  const third = await open();
  answer = dismiss;
  seen = async sessionId => {
    seen = () => {};
    await ctx.notify(methods.agent.session.cancel, { sessionId });
  };
  out.cancelled = (await prompt(third, 'slow: 600')).stopReason;
  out.dismissed = (await prompt(third, 'approve: it')).stopReason;

  updates = [];
  await ctx.request(methods.agent.session.load, { sessionId: session, cwd: process.cwd(), mcpServers: [] });
  out.loaded = updates.map(u => u.sessionUpdate + (u.content?.text ? `: ${u.content.text}` : ''));

  out.failure = await ctx.request(methods.agent.session.prompt, { sessionId: session, prompt: [{ type: 'text', text: 'fail' }] })
    .then(() => 'none', error => `${error.code} ${error.message}`);
  return out;
});
agent.stdin.end();
const [code] = await once(agent, 'exit');
console.log(JSON.stringify({ ...report, exit: code }));
