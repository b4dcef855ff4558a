// Loses the connection in the middle of an answer and comes back, as a page does that
// is opened again: it loads what is stored and resumes the stream. Prints, as one line
// of JSON, what the client has then.
//
//   node resume.mjs <base-url> <text> [package] [wait]
//
// With wait it comes back when a line has come on its standard input, to the base URL in
// that line: until then the caller may do what it likes with the server. It prints "cut"
// when it is gone.
import { randomUUID } from 'node:crypto';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { fail, open, stored } from './client.mjs';

const [base, text, name = 'ai', wait] = process.argv.slice(2);
const { Chat, DefaultChatTransport, validateUIMessages } = await open(name);
const transport = to => new DefaultChatTransport({ api: `${to}/v1/ai-sdk/chat` });

const id = `chat-${randomUUID()}`;
const first = new Chat({ id, transport: transport(base), onError: () => {} });
const sent = first.sendMessage({ text });
const shown = () => first.lastMessage?.parts?.findLast(part => part.type === 'text' && first.lastMessage.role === 'assistant')?.text ?? '';
while (!shown().includes('w3 ')) {
  await new Promise(resolve => { setTimeout(resolve, 5); });
}
await first.stop();
await sent;
const before = shown();
let back = base;
if (wait) {
  console.log('cut');
  [back] = await once(createInterface(process.stdin), 'line');
}

let failure;
let finish;
const second = new Chat({
  id, transport: transport(back),
  messages: await stored(back, id, validateUIMessages),
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
  stored: texts(await stored(back, id, validateUIMessages)),
}));
process.exit(0); // standard input may be open
