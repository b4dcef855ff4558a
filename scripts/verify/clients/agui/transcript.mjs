// node transcript.mjs URL PACKAGE NAME...: takes the stream that each URL/NAME responds
// with and prints, a line for each, what the client has then: messages, state, and how
// the run ended.
import { open, plain, run, strict } from './client.mjs';

const [base, name, ...transcripts] = process.argv.slice(2);
strict();
const make = await open(name, base);
for (const transcript of transcripts) {
  const agent = make('t1', { path: '/' + transcript });
  const { outcome, error, types } = await run(agent, { runId: 'r1' });
  console.log(JSON.stringify({
    messages: plain(agent.messages), state: agent.state, outcome: outcome?.type, error: error?.code, events: types.length,
    pending: agent.pendingInterrupts.map(i => `${i.reason} ${i.id}`),
  }));
}
