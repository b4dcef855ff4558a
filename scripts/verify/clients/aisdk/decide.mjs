// Drives calls that wait with the real AI SDK client and prints, as one line of
// JSON, what the client saw of each.
//
//   node decide.mjs <base-url> [package]
//
// Exits non-zero when the client reports an error, or is not where the script
// expects it.
import { randomUUID } from 'node:crypto';
import { fail, open, stored } from './client.mjs';

const [base, name = 'ai'] = process.argv.slice(2);
if (!base) {
  console.error('usage: node decide.mjs <base-url> [package]');
  process.exit(2);
}
const ai = await open(name);
let body = {}; // what the application adds to each request
const transport = new ai.DefaultChatTransport({ api: `${base}/v1/ai-sdk/chat`, body: () => body });

/** A chat that sends by itself when the person, or the page, has answered. */
function chatWith(id, messages) {
  const finished = [];
  let wake = () => {};
  const chat = new ai.Chat({
    id,
    messages,
    transport,
    sendAutomaticallyWhen: state =>
      ai.lastAssistantMessageIsCompleteWithApprovalResponses(state) ||
      ai.lastAssistantMessageIsCompleteWithToolCalls(state),
    onError: error => fail(`${id}: ${error.message}`),
    onFinish: event => { finished.push(event); wake(); },
  });
  /** Waits for the end of the n-th response. */
  chat.response = async n => {
    while (finished.length < n) {
      await new Promise(resolve => { wake = resolve; });
    }
    return finished[n - 1];
  };
  return chat;
}

/** Sends a text whose tool call then waits. */
async function waiting(title, text) {
  const id = `${title}-${randomUUID()}`;
  const chat = chatWith(id);
  await chat.sendMessage({ text });
  const { finishReason } = await chat.response(1);
  return { chat, id, finishReason };
}

const openCall = chat => chat.lastMessage.parts.at(-1);

/** What a scenario came to. after is the chat's number of responses then. */
async function outcome({ chat, id, finishReason }, { asked, first, after }) {
  const { finishReason: last, isAbort } = await chat.response(after);
  await new Promise(resolve => { setTimeout(resolve, 100); }); // a request that should not be would have begun
  if (chat.status !== 'ready') {
    fail(`${id}: the chat is ${chat.status} after its last response`);
  }
  const messages = await stored(base, id, ai.validateUIMessages);
  if (await transport.reconnectToStream({ chatId: id }) !== null) {
    fail(`${id}: a finished chat offered a stream to resume`);
  }
  return {
    asked,
    finishReasons: [finishReason, last],
    isAbort,
    sameMessage: chat.lastMessage.id === first && messages.at(-1).id === first,
    count: chat.messages.length,
    parts: chat.lastMessage.parts.map(plain),
    stored: messages.at(-1).parts.map(plain),
  };
}

/** A part without its ids. */
function plain({ type, state, text, input, output, errorText, approval }) {
  const { approved, reason } = approval ?? {};
  return { type, state, text, input, output, errorText, approved, reason };
}

async function approval(title, answer) {
  const w = await waiting(title, `approve: ${title} ${name}`);
  const part = openCall(w.chat);
  const first = w.chat.lastMessage.id;
  await w.chat.addToolApprovalResponse({ id: part.approval.id, ...answer });
  return outcome(w, { asked: part.state, first, after: 2 });
}

/** The page is left and opened again, and answers then. */
async function reloaded(title) {
  const w = await waiting(title, `approve: ${title} ${name}`);
  if (await transport.reconnectToStream({ chatId: w.id }) !== null) {
    fail(`${w.id}: a chat that waits offered a stream to resume`);
  }
  const chat = chatWith(w.id, await stored(base, w.id, ai.validateUIMessages));
  const part = openCall(chat);
  const first = chat.lastMessage.id;
  await chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
  return outcome({ ...w, chat }, { asked: part.state, first, after: 1 });
}

/** An approval for the whole thread: the same call is not asked about again. */
async function remembered(title) {
  const text = `approve: ${title} ${name}`;
  const { chat, id } = await waiting(title, text);
  const remember = { approval: { remember: 'thread' } };
  if (name === 'ai-6.0.0') { // its function has no options yet
    body = remember;
  }
  await chat.addToolApprovalResponse({ id: openCall(chat).approval.id, approved: true, options: { body: remember } });
  await chat.response(2);
  body = {};
  await chat.sendMessage({ text });
  const { finishReason } = await chat.response(3);
  const messages = await stored(base, id, ai.validateUIMessages);
  return { finishReason, count: chat.messages.length, parts: chat.lastMessage.parts.map(plain), stored: messages.at(-1).parts.map(plain) };
}

async function clientTool(title, answer) {
  const w = await waiting(title, `ask: ${title}?`);
  const part = openCall(w.chat);
  const first = w.chat.lastMessage.id;
  await w.chat.addToolOutput({ tool: 'ask_user', toolCallId: part.toolCallId, ...answer });
  return outcome(w, { asked: part.state, first, after: 2 });
}

/** A person who says something else instead, and is asked for approval again. */
async function superseded(title) {
  const w = await waiting(title, `approve: ${title} ${name}`);
  const before = w.chat.lastMessage.id;
  await w.chat.sendMessage({ text: `approve: instead ${name}` });
  const { finishReason } = await w.chat.response(2);
  const first = w.chat.lastMessage.id;
  const messages = await stored(base, w.id, ai.validateUIMessages);
  if (JSON.stringify(messages.map(m => m.id)) !== JSON.stringify(w.chat.messages.map(m => m.id)) || first === before) {
    fail(`${w.id}: the stored messages are not the chat's, or one is there twice`);
  }
  const part = openCall(w.chat);
  await w.chat.addToolApprovalResponse({ id: part.approval.id, approved: true });
  return outcome({ ...w, finishReason }, { asked: part.state, first, after: 3 });
}

/** The client settles its call, sends nothing, and the person then says something new. */
async function settled(title, answer) {
  const id = `${title}-${randomUUID()}`;
  const finished = [];
  const chat = new ai.Chat({ id, transport, onError: error => fail(`${id}: ${error.message}`), onFinish: event => finished.push(event) });
  await chat.sendMessage({ text: `ask: ${title}?` });
  const before = chat.lastMessage.id;
  await chat.addToolOutput({ tool: 'ask_user', toolCallId: openCall(chat).toolCallId, ...answer });
  await chat.sendMessage({ text: `echo: ${title} ${name}` });
  if (finished.length !== 2) {
    fail(`${id}: ${finished.length} responses`);
  }
  const messages = await stored(base, id, ai.validateUIMessages);
  const shown = all => all.map(m => ({ role: m.role, parts: m.parts.map(plain) }));
  return {
    sameMessage: chat.lastMessage.id === before,
    sameIds: JSON.stringify(messages.map(m => m.id)) === JSON.stringify(chat.messages.map(m => m.id)),
    chat: shown(chat.messages),
    stored: shown(messages),
  };
}

console.log(JSON.stringify({
  settled: await settled('settled', { output: { name: 'Ann' } }),
  givenUp: await settled('givenUp', { state: 'output-error', errorText: 'left' }),
  approved: await approval('approved', { approved: true }),
  denied: await approval('denied', { approved: false, reason: 'not today' }),
  reloaded: await reloaded('reloaded'),
  remembered: await remembered('remembered'),
  answered: await clientTool('answered', { output: { name: 'Ann' } }),
  superseded: await superseded('superseded'),
  unanswered: await clientTool('unanswered', { state: 'output-error', errorText: 'nobody is there' }),
}));
