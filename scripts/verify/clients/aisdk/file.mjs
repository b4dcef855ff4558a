// Sends a message with a file and prints, as one line of JSON, what was said of it
// and the message as it is loaded again.
//
//   node file.mjs <base-url> [package]
import { randomUUID } from 'node:crypto';
import { fail, open, stored } from './client.mjs';

const [base, name = 'ai'] = process.argv.slice(2);
const { Chat, DefaultChatTransport, validateUIMessages } = await open(name);

const id = `chat-${randomUUID()}`;
let failure;
const chat = new Chat({
  id,
  transport: new DefaultChatTransport({ api: `${base}/v1/ai-sdk/chat` }),
  onError: error => { failure = error; },
});
const files = [{ type: 'file', mediaType: 'image/png', filename: 'dot.png', url: 'data:image/png;base64,YWJj' }];
await chat.sendMessage({ text: 'look', files });
if (failure) {
  fail(failure.message);
}
const messages = await stored(base, id, validateUIMessages);
const said = chat.messages.at(-1).parts.filter(part => part.type === 'text').map(part => part.text).join('');
console.log(JSON.stringify({ said, stored: messages[0].parts }));
