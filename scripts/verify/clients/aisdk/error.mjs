// Sends a message whose run fails and one that is refused, and prints, as one line of
// JSON, what the client reports.
//
//   node error.mjs <base-url> [package]
import { randomUUID } from 'node:crypto';
import { open } from './client.mjs';

const [base, name = 'ai'] = process.argv.slice(2);
const { Chat, DefaultChatTransport } = await open(name);

async function failing(text, body) {
  let failure;
  const chat = new Chat({
    id: `chat-${randomUUID()}`,
    transport: new DefaultChatTransport({ api: `${base}/v1/ai-sdk/chat`, body }),
    onError: error => { failure = error; },
  });
  await chat.sendMessage({ text });
  return { status: chat.status, error: failure?.message };
}

console.log(JSON.stringify({ failed: await failing('fail'), refused: await failing('hello', { agentId: 'nobody' }) }));
