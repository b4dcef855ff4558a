// node reconnect.mjs URL PACKAGE THREAD RUN TEXT [DROP] [MESSAGES]: runs an agent on what
// the person says in TEXT, under the runId RUN. With DROP the connection is lost once the
// client has so many characters of the agent's words and thoughts; prints what the client
// has then. MESSAGES, as JSON, is what it had before; then TEXT is part of it.
import { open, plain, run, stored, strict } from './client.mjs';

const [base, name, thread, runId, text, drop = '0', before] = process.argv.slice(2);
strict();
const make = await open(name, base);
const lost = new AbortController();
const agent = make(thread, {
  initialMessages: before ? JSON.parse(before) : [{ id: `${thread}.1`, role: 'user', content: text }],
});
let had = 0;
agent.subscribe({
  onTextMessageContentEvent: ({ event }) => count(event),
  onReasoningMessageContentEvent: ({ event }) => count(event),
});
function count({ delta }) {
  had += delta.length;
  if (drop > 0 && had >= drop) lost.abort();
}

const quiet = console.error;
console.error = () => {}; // the client reports the lost connection, which is meant
const gone = new Promise(resolve => { // the client of 0.0.59 may never say so itself
  lost.signal.addEventListener('abort', () => setImmediate(resolve, { types: [], error: { message: 'lost' } }));
});
const { types, error } = await Promise.race([gone, run(agent, { runId, ...(drop > 0 && { abortController: lost }) })
  .catch(error => ({ types: [], error: { message: String(error) } }))]);
console.error = quiet;
const report = { messages: agent.messages, plain: plain(agent.messages), types, error: error?.code ?? error?.message };
if (drop === '0') {
  report.same = JSON.stringify(plain(await stored(base, thread))) === JSON.stringify(report.plain);
}
process.stdout.write(JSON.stringify(report), () => process.exit());
