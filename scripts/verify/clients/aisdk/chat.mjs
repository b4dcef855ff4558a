// Sends one message with the real AI SDK client and prints, as one line of
// JSON, what the client made of the response.
//
//   node chat.mjs <base-url> [text] [package]
//
// The text is "echo: hello" by default, the package "ai". Exits non-zero when
// the client reports an error.
import { randomUUID } from 'node:crypto';
import { fail, open, stored } from './client.mjs';

const [base, text = 'echo: hello', name = 'ai'] = process.argv.slice(2);
if (!base) {
  console.error('usage: node chat.mjs <base-url> [text] [package]');
  process.exit(2);
}
const { Chat, DefaultChatTransport, validateUIMessages } = await open(name);

const id = `chat-${randomUUID()}`;
const api = `${base}/v1/ai-sdk/chat`;
const transport = new DefaultChatTransport({ api });
let failure;
let finish;
const chat = new Chat({
  id,
  transport,
  onError: error => { failure = error; },
  onFinish: event => { finish = event; },
});
await chat.sendMessage({ text });
if (failure) {
  fail(failure.message);
}

// A page that is opened afterwards: nothing to resume, and the stored messages
// pass the client's own check.
const resumed = await transport.reconnectToStream({ chatId: id });
if (resumed !== null) {
  fail('a finished chat offered a stream to resume');
}
const messages = await stored(base, id, validateUIMessages);

const answer = chat.messages.at(-1);
console.log(JSON.stringify({
  messageId: answer.id,
  finishReason: finish.finishReason,
  isAbort: finish.isAbort,
  parts: answer.parts,
  stored: messages.map(({ role, parts }) => ({ role, parts })),
}));
