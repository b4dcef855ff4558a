// Sends one message with the real AI SDK client and prints, as one line of
// JSON, what the client made of the answer.
//
//   node chat.mjs <base-url> [text] [package]
//
// The text is "echo: hello" by default, the package "ai". Exits non-zero when
// the client reports an error.
import { randomUUID } from 'node:crypto';

const [base, text = 'echo: hello', name = 'ai'] = process.argv.slice(2);
if (!base) {
  console.error('usage: node chat.mjs <base-url> [text] [package]');
  process.exit(2);
}
const { AbstractChat, DefaultChatTransport, validateUIMessages } = await import(name);

/** What useChat does, without React: plain state under the client's own chat. */
class Chat extends AbstractChat {
  constructor(options) {
    super({
      ...options,
      state: {
        status: 'ready',
        error: undefined,
        messages: [],
        pushMessage(message) { this.messages = [...this.messages, message]; },
        popMessage() { this.messages = this.messages.slice(0, -1); },
        replaceMessage(index, message) { this.messages = this.messages.with(index, message); },
        snapshot: value => structuredClone(value),
      },
    });
  }
}

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
  console.error(`client error: ${failure.message}`);
  process.exit(1);
}

// A page that is opened afterwards: nothing to resume, and the stored messages
// pass the client's own check.
const resumed = await transport.reconnectToStream({ chatId: id });
if (resumed !== null) {
  console.error('client error: a finished chat offered a stream to resume');
  process.exit(1);
}
const response = await fetch(`${base}/v1/ai-sdk/threads/${encodeURIComponent(id)}/messages`);
const { messages } = await response.json();
await validateUIMessages({ messages });

const answer = chat.messages.at(-1);
console.log(JSON.stringify({
  messageId: answer.id,
  finishReason: finish.finishReason,
  isAbort: finish.isAbort,
  parts: answer.parts,
  stored: messages.map(({ role, parts }) => ({ role, parts })),
}));
