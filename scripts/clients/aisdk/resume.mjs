// Loses the connection in the middle of an answer and comes back, as a page does that
// is opened again: it loads what is stored and resumes the stream. Prints, as one line
// of JSON, what the client has then.
//
//   node resume.mjs <base-url> <text> [package]
//
// With a line on its standard input it comes back when that line has come: until then
// the caller may do what it likes with the server. It prints "cut" when it is gone.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { fail, open, stored } from './client.mjs';

const [base, text, name = 'ai', wait] = process.argv.slice(2);
const { Chat, DefaultChatTransport, validateUIMessages } = await open(name);
const transport = new DefaultChatTransport({ api: `${base}/v1/ai-sdk/chat` });

const id = `chat-${randomUUID()}`;
const first = new Chat({ id, transport, onError: () => {} });
const sent = first.sendMessage({ text });
const shown = () => first.lastMessage?.parts?.findLast(part => part.type === 'text' && first.lastMessage.role === 'assistant')?.text ?? '';
while (!shown().includes('w3 ')) {
  await new Promise(resolve => { setTimeout(resolve, 5); });
}
await first.stop();
await sent;
const before = shown();
if (wait) {
  console.log('cut');
  await once(process.stdin, 'data');
}

let failure;
let finish;
const second = new Chat({
  id, transport,
  messages: await stored(base, id, validateUIMessages),
  onError: error => { failure = error; },
  onFinish: event => { finish = event; },
});
await second.resumeStream();
if (failure) {
  fail(failure.message);
}
const texts = messages => messages.map(message => message.parts.filter(part => part.type === 'text').map(part => part.text).join(''));
console.log(JSON.stringify({
  prefix: texts(second.messages).at(-1).startsWith(before) && before !== texts(second.messages).at(-1),
  finishReason: finish?.finishReason,
  roles: second.messages.map(message => message.role),
  texts: texts(second.messages),
  stored: texts(await stored(base, id, validateUIMessages)),
}));
process.exit(0); // standard input may be open
