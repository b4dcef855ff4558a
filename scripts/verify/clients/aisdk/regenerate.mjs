// Asks for other answers and edits what was sent with the real AI SDK client, and
// prints, as one line of JSON, what the client and the server have then.
//
//   node regenerate.mjs <base-url> [package [starter]]
//
// starter is the file of the chat starter with lastMessage: then each request has one
// message.
// Exits non-zero when the client reports an error that the script does not expect, or
// when the stored messages are not the client's.
import { randomUUID } from 'node:crypto';
import { readFile } from 'node:fs/promises';
import { fail, open, stored } from './client.mjs';

const [base, name = 'ai', starter] = process.argv.slice(2);
if (!base) {
  console.error('usage: node regenerate.mjs <base-url> [package]');
  process.exit(2);
}
const ai = await open(name);
const api = `${base}/v1/ai-sdk/chat`;
const prepared = starter
  ? { prepareSendMessagesRequest: (await import(`data:text/javascript,${encodeURIComponent(await readFile(starter, 'utf8'))}`)).lastMessage }
  : {};

/** The request, which must have one message if the starter has made it. */
function checked(request) {
  const [, { body } = {}] = request;
  if (starter && body && JSON.parse(body).messages.length !== 1) {
    fail(`a request has ${JSON.parse(body).messages.length} messages: ${body}`);
  }
  return request;
}

/** A chat; through is what its requests go through instead of fetch. */
function chatWith(title, through = fetch) {
  const id = `${title}-${randomUUID()}`;
  const errors = [];
  const chat = new ai.Chat({
    id,
    transport: new ai.DefaultChatTransport({ api, fetch: (...request) => through(...checked(request)), ...prepared }),
    onError: error => errors.push(error.message),
  });
  const text = message => message.parts.filter(p => p.type === 'text').map(p => p.text).join('');
  /** What the chat and the store have: the same, under the same ids. */
  const outcome = async () => {
    if (errors.length > 0) {
      fail(`${id}: ${errors}`);
    }
    const messages = await stored(base, id, ai.validateUIMessages);
    const ids = list => JSON.stringify(list.map(m => m.id));
    if (ids(messages) !== ids(chat.messages)) {
      fail(`${id}: the store has ${ids(messages)}, the chat ${ids(chat.messages)}`);
    }
    return messages.map(m => `${m.role}: ${text(m)}`);
  };
  const page = async () => (await (await fetch(`${base}/v1/threads/${id}/messages`)).json());
  return { id, chat, errors, outcome, page };
}

async function regenerated() {
  const { chat, outcome, page } = chatWith('regenerated');
  await chat.sendMessage({ text: 'echo: one' });
  const answers = [chat.lastMessage.id];
  await chat.regenerate();
  answers.push(chat.lastMessage.id);
  await chat.regenerate();
  answers.push(chat.lastMessage.id);
  await chat.sendMessage({ text: 'echo: two' });
  await chat.regenerate({ messageId: chat.lastMessage.id });
  const both = await outcome();
  await chat.regenerate({ messageId: answers[2] });
  answers.push(chat.lastMessage.id);
  const shown = (await page()).messages.length;
  return { different: new Set(answers).size, both, one: await outcome(), shown };
}

async function edited() {
  const { chat, outcome } = chatWith('edited');
  await chat.sendMessage({ text: 'echo: one' });
  await chat.sendMessage({ text: 'echo: two' });
  const [first, , second] = chat.messages.map(m => m.id);
  await chat.sendMessage({ text: 'echo: other', messageId: second });
  const newest = await outcome();
  await chat.sendMessage({ text: 'echo: another', messageId: second });
  await chat.sendMessage({ text: 'echo: other', messageId: second }); // the first edit again, on purpose
  const again = await outcome();
  await chat.sendMessage({ text: 'echo: anew', messageId: first });
  await chat.sendMessage({ text: 'echo: on' });
  return { newest, again, oldest: await outcome(), kept: chat.messages[0].id === first };
}

/** A call waits for approval, and the person wants another answer, or says another thing. */
async function waiting() {
  const { id, chat, outcome } = chatWith('waiting');
  await chat.sendMessage({ text: `approve: superseded ${id}` });
  const asked = structuredClone(chat.lastMessage);
  await chat.regenerate();
  const part = chat.lastMessage.parts.at(-1);
  const late = await decide(id, asked);
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
  await chat.sendMessage();
  const ran = chat.lastMessage.parts.find(p => p.type === 'tool-danger').output.executions;
  const approved = (await outcome()).map(line => line.replaceAll(id, 'X'));
  await chat.sendMessage({ text: `approve: never ${id}` });
  const again = structuredClone(chat.lastMessage);
  await chat.sendMessage({ text: 'echo: instead', messageId: chat.messages.at(-2).id });
  return { late, later: await decide(id, again), ran, approved, edited: (await outcome()).slice(2) };
}

/** The status of an approval of what a message asks. */
async function decide(id, message) {
  const parts = message.parts.map(p => p.approval
    ? { ...p, state: 'approval-responded', approval: { ...p.approval, approved: true } }
    : p);
  const response = await fetch(api, {
    method: 'POST',
    headers: { 'content-type': 'application/json' },
    body: JSON.stringify({ id, trigger: 'submit-message', messageId: message.id, messages: [{ ...message, parts }] }),
  });
  return { status: response.status, code: (await response.json()).code };
}

/** The person stops reading while the answer comes, and wants another. */
async function stopped() {
  const { chat, outcome } = chatWith('stopped');
  const text = () => chat.lastMessage.parts.findLast(p => p.type === 'text')?.text ?? '';
  const sent = chat.sendMessage({ text: 'slow: 30' });
  while (chat.lastMessage?.role !== 'assistant' || !text().includes('w3')) {
    await new Promise(resolve => { setTimeout(resolve, 10); });
  }
  await chat.stop();
  await sent;
  const user = chat.messages[0].id;
  await chat.sendMessage({ text: 'echo: quick', messageId: user });
  return { messages: await outcome(), kept: chat.messages[0].id === user };
}

/** The same request arrives twice, because the network lost the first response. */
async function doubled() {
  let doubles = false;
  const { id, chat, outcome, page } = chatWith('doubled', async (...request) => {
    if (doubles) {
      const lost = await fetch(...request);
      void lost.body.cancel();
    }
    return fetch(...request);
  });
  await chat.sendMessage({ text: 'slow: 5' });
  const before = (await page()).total;
  doubles = true;
  await chat.regenerate();
  return { messages: await outcome(), added: (await page()).total - before };
}

/** The first request never arrives: "try again" is a regenerate, or an edit. */
async function unheard(again) {
  let broken = true;
  const { chat, errors, outcome } = chatWith('unheard', async (...request) => {
    if (broken) {
      throw new Error('no network');
    }
    return fetch(...request);
  });
  await chat.sendMessage({ text: 'echo: heard' });
  const reported = errors.splice(0);
  broken = false;
  await again(chat);
  return { reported, messages: await outcome() };
}

console.log(JSON.stringify({
  regenerated: await regenerated(),
  edited: await edited(),
  waiting: await waiting(),
  stopped: await stopped(),
  doubled: await doubled(),
  unheard: await unheard(chat => chat.regenerate()),
  corrected: await unheard(chat => chat.sendMessage({ text: 'echo: corrected', messageId: chat.messages[0].id })),
}));
