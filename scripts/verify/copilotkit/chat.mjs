// node --import ./styles.mjs chat.mjs MODULE: types into the Chat that MODULE exports, lets it run a tool
// of the page, approves a call, and prints the messages of the chat's agent. MODULE is made from the block of
// adapters/protocols/agui/README.md; it renders globalThis.Page next to CopilotChat.
import { type, until } from './page.mjs';

const [module] = process.argv.slice(2);
console.warn = console.info = () => {}; // about licences and parts that this page does not render
const { createElement: h } = (await import('react')).default;
const { createRoot } = await import('react-dom/client');
const { useAgent, useAgentContext, useFrontendTool, useInterrupt } = await import('@copilotkit/react-core/v2');
const { z } = await import('zod');

const opened = [];
let asked; // the newest request for approval
let agent; // as React's hooks have it

globalThis.Page = function Page() {
  ({ agent } = useAgent({ agentId: 'default' }));
  useAgentContext({ description: 'The open page', value: '/cart' });
  useFrontendTool({
    name: 'navigate', description: 'Opens a page', parameters: z.object({ to: z.string() }),
    handler: async ({ to }) => { opened.push(to); return { opened: true }; },
  });
  useInterrupt({ render: request => { asked = request; return h('b', null, 'May it?'); } });
  return null;
};

const { Chat } = await import(module);
createRoot(document.getElementById('root')).render(h(Chat));
const says = text => until(text, () => !agent.isRunning && agent.messages.at(-1)?.content === text);
await type('echo: hello');
await says('Echo: hello');
await type('call: navigate {"to":"/home"}');
await says('The result of navigate: {"opened":true}');
await type('approve: ship it');
await until('the request for approval', () => asked);
asked.resolve({ approved: true });
await says('Done: ship it');
const messages = agent.messages.map(m => `${m.role}: ${m.content ?? ''}${(m.toolCalls ?? []).map(c => c.function.name)}`);
process.stdout.write(JSON.stringify({ opened, messages }), () => process.exit());
