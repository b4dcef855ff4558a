// node --import ./styles.mjs chat.mjs URL: types into CopilotKit's chat, lets it run a tool
// of the page and approve a call, and prints what the chat's agent has then.
import { type, until } from './page.mjs';

const [base] = process.argv.slice(2);
console.warn = console.info = () => {}; // of licences and of what this page does not render
const { createElement: h } = (await import('react')).default;
const { createRoot } = await import('react-dom/client');
const { CopilotChat, CopilotKitProvider, useAgent, useAgentContext, useFrontendTool, useInterrupt } = await import('@copilotkit/react-core/v2');
const { HttpAgent } = await import('@ag-ui/client');
const { z } = await import('zod');

const agents = { default: new HttpAgent({ url: `${base}/v1/ag-ui/run` }) };
const opened = [];
let asked; // the newest request for approval
let agent; // as React's hooks have it

function Page() {
  ({ agent } = useAgent({ agentId: 'default' }));
  useAgentContext({ description: 'The open page', value: '/cart' });
  useFrontendTool({
    name: 'navigate', description: 'Opens a page', parameters: z.object({ to: z.string() }),
    handler: async ({ to }) => { opened.push(to); return { opened: true }; },
  });
  useInterrupt({ render: request => { asked = request; return h('b', null, 'May it?'); } });
  return null;
}

createRoot(document.getElementById('root')).render(h(CopilotKitProvider, { selfManagedAgents: agents }, h(Page), h(CopilotChat)));
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
