// How a program does what was just done here.
import { absolute } from './api';
import { Code } from './json';

// UseView shows the same conversation as curl, as an AI SDK client and as an AG-UI client
// have it.
export function UseView({ thread, run, agent }: { thread: string; run: string; agent: string }) {
  const id = thread || 'THREAD';
  const said = JSON.stringify({ threadId: id, agentId: agent || undefined, messages: [{ role: 'user', content: 'echo: hello' }] });
  return (
    <div class="pane-body">
      <h2>curl</h2>
      <Code language="sh" text={`curl -N ${absolute('v1/runs')} -H 'content-type: application/json' \\\n  -d '${said}'`} />
      {run && <Code language="sh" text={`curl -N ${absolute(`v1/runs/${run}/events/stream`)}`} />}
      <h2>AI SDK</h2>
      <Code
        language="tsx"
        text={`const { messages, sendMessage } = useChat({\n  id: '${id}', resume: true,\n  transport: new DefaultChatTransport({ api: '${absolute('v1/ai-sdk/chat')}'${agent ? `, body: { agentId: '${agent}' }` : ''} }),\n});`}
      />
      <h2>AG-UI</h2>
      <Code language="ts" text={`const agent = new HttpAgent({ url: '${absolute('v1/ag-ui/run')}', threadId: '${id}' });\nagent.addMessage({ id: crypto.randomUUID(), role: 'user', content: 'echo: hello' });\nawait agent.runAgent();`} />
    </div>
  );
}
