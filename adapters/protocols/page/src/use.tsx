// How a program does what was just done here.
import { absolute } from './api';
import { useState } from 'preact/hooks';
import { Code } from './json';
import type { RunRecord } from './record';
import { timedOf } from './timed';

type Way = 'curl' | 'AI SDK' | 'AG-UI' | 'Go test';

const ways: Way[] = ['curl', 'AI SDK', 'AG-UI', 'Go test'];

// UseView shows the same run as curl, as an AI SDK client, as an AG-UI client and as a test
// have it.
export function UseView({ thread, run, agent, record }: { thread: string; run: string; agent: string; record?: RunRecord }) {
  const [way, setWay] = useState<Way>('curl');
  const id = thread || 'THREAD';
  const text = record?.run.value?.asked || 'echo: hello';
  return (
    <div class="pane-body">
      <p>The same run, from your own code.</p>
      <div class="seg" role="group" aria-label="Client">
        {ways.map((w) => <button key={w} type="button" aria-pressed={w === way} onClick={() => setWay(w)}>{w}</button>)}
      </div>
      {way === 'curl' && <Code language="sh" text={curl(id, agent, text)} />}
      {way === 'curl' && run && <><p class="meta">Its events, from the first:</p><Code language="sh" text={`curl -N ${absolute(`v1/runs/${run}/events/stream`)}`} /></>}
      {way === 'AI SDK' && <Code language="tsx" text={sdk(id, agent)} />}
      {way === 'AG-UI' && <Code language="ts" text={agui(id, text)} />}
      {way === 'Go test' && <><Code language="go" text={goTest(record, text)} /><p class="meta">The test plays this run with a scripted model, and again with every fault. Its <code>parts</code> are those of your program.</p></>}
    </div>
  );
}

const quoted = (text: string) => text.replaceAll("'", "'\\''");

const curl = (id: string, agent: string, text: string) => {
  const fields = [...(agent ? [`"agentId": ${JSON.stringify(agent)}`] : []), `"threadId": ${JSON.stringify(id)}`, `"messages": [{"role": "user",\n      "content": ${JSON.stringify(text)}}]`];
  return `curl -N ${absolute('v1/runs')} \\\n  -H 'content-type: application/json' \\\n  -d '{${quoted(fields.join(',\n    '))}}'`;
};

const sdk = (id: string, agent: string) =>
  `const { messages, sendMessage } = useChat({\n  id: ${JSON.stringify(id)}, resume: true,\n  transport: new DefaultChatTransport({\n    api: '${absolute('v1/ai-sdk/chat')}',${agent ? `\n    body: { agentId: ${JSON.stringify(agent)} },` : ''}\n  }),\n});`;

const agui = (id: string, text: string) =>
  `const agent = new HttpAgent({\n  url: '${absolute('v1/ag-ui/run')}',\n  threadId: ${JSON.stringify(id)},\n});\nagent.addMessage({\n  id: crypto.randomUUID(), role: 'user',\n  content: ${JSON.stringify(text)},\n});\nawait agent.runAgent();`;

// goTest is the run as a scenario with a scripted model, for CI.
function goTest(record: RunRecord | undefined, text: string): string {
  const go = (s: string) => (s.includes('`') ? JSON.stringify(s) : /["\\\n]/.test(s) ? `\`${s}\`` : `"${s}"`);
  const steps = record ? timedOf(record) : [];
  const turns = steps.filter((s) => s.said && !s.failed).map((s) => {
    const calls = s.calls.map((c) => `reveilletest.Call(${go(c.name)}, json.RawMessage(${go(JSON.stringify(c.arguments ?? {}))}))`);
    return calls.length ? `\t\t\t{Calls: []reveille.ToolCall{${calls.join(', ')}}},` : `\t\t\t{Text: ${go(s.text)}},`;
  });
  const acts = steps.flatMap((s) => s.calls).filter((c) => c.asked && c.kind !== 'child' && c.kind !== 'timer' && c.answered).map((c) => (c.kind === 'client' ? `reveilletest.Reply(${go(JSON.stringify(c.result ?? null))})` : c.action === 'cancel' ? `reveilletest.Deny(${go(c.reason)})` : 'reveilletest.Approve()'));
  const person = [`reveilletest.Say(${go(text)})`, ...acts].join(', ');
  const scenario = [`\t\tName: "as recorded",`, `\t\tPerson: []reveilletest.Act{${person}},`, ...(turns.length ? ['\t\tTurns: []reveilletest.Turn{', ...turns, '\t\t},'] : [])].join('\n');
  return `func TestAsRecorded(t *testing.T) {\n\treveilletest.Crashes{Parts: parts, Scenarios: []reveilletest.Scenario{{\n${scenario}\n\t}}}.Run(t)\n}`;
}
