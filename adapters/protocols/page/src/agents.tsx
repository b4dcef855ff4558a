// The agents: what each is, and a form for each of its tools.
import { useState } from 'preact/hooks';
import { Refused, newID } from './api';
import { begin } from './follow';
import { SchemaForm } from './form';
import { Head } from './head';
import { Copy, JSONView } from './json';
import { agents, detail, type AgentDetail, type AgentTool } from './lists';
import { Problem } from './problem';
import { address, go, route } from './route';

export function AgentsView() {
  const all = agents.value;
  const id = route.value.agent || all?.find((a) => a.default)?.id || all?.[0]?.id;
  if (all && !all.length) return <><Head title="Agents" /><div class="body"><p class="empty">This host does not list its agents.</p></div></>;
  return (
    <>
    <Head title="Agents" />
    <div class="body">
      <div class="column">
        <ul class="agent-list">
          {all?.map((a) => (
            <li key={a.id}>
              <a href={address({ view: 'agents', agent: a.id })} aria-current={a.id === id ? 'page' : undefined} data-row>
                <strong>{a.id}</strong> {a.default && <span class="meta">default</span>} <span class="meta">model {a.model}</span>
              </a>
            </li>
          ))}
        </ul>
        {id && <AgentView key={id} id={id} />}
      </div>
    </div>
    </>
  );
}

function AgentView({ id }: { id: string }) {
  const agent = detail(id).value;
  if (agent instanceof Error) return <Problem error={agent} />;
  if (!agent) return null;
  return (
    <>
      <section aria-label={`Agent ${id}`}>
        <p>{agent.description ?? 'No description.'}</p>
        <dl class="facts">
          <dt>Model</dt><dd>{agent.model}</dd>
          {agent.plugins.length > 0 && <><dt>Plugins</dt><dd>{agent.plugins.join(', ')}</dd></>}
          {agent.delegates.length > 0 && <><dt>Delegates</dt><dd>{agent.delegates.join(', ')}</dd></>}
          {agent.max_rounds ? <><dt>Maximum steps</dt><dd>{agent.max_rounds}</dd></> : null}
          {agent.execution_mode && <><dt>Calls run</dt><dd>{agent.execution_mode}</dd></>}
        </dl>
        <p><a class="button" href={address({ agent: id })}>Talk to it</a></p>
      </section>
      <h2>Tools</h2>
      {agent.tools.length === 0 && <p class="meta">No tools.</p>}
      {agent.tools.map((t) => <ToolView key={t.name} agent={agent} tool={t} />)}
    </>
  );
}

function ToolView({ agent, tool }: { agent: AgentDetail; tool: AgentTool }) {
  const [said, setSaid] = useState(`call: ${tool.name} {}`);
  const [problem, setProblem] = useState<unknown>(undefined);
  const [busy, setBusy] = useState(false);
  const ask = async (value: unknown) => {
    setBusy(true);
    setProblem(undefined);
    const text = `call: ${tool.name} ${JSON.stringify(value)}`;
    try {
      const record = await begin({ agentId: agent.id, threadId: newID(), messages: [{ id: newID(), role: 'user', content: text }] }, newID());
      go({ thread: record.thread, run: record.id });
    } catch (e) {
      setProblem(e instanceof Refused || e instanceof Error ? e : new Error(String(e)));
    }
    setBusy(false);
  };
  return (
    <details class="tool">
      <summary>
        <span class="call-name">{tool.name}</span> <span class="call-line">{tool.description}</span> {tool.client && <span class="meta">runs in the client</span>}
      </summary>
      <SchemaForm schema={tool.parameters} verb="Ask for this call" busy={busy} onSubmit={(v) => void ask(v)} onChange={(v) => setSaid(`call: ${tool.name} ${JSON.stringify(v)}`)} />
      <p class="meta">This sends the agent a message on a new thread, which the scripted model turns into the call: <code>{said}</code> <Copy text={said} label="Copy the message" /></p>
      {problem !== undefined && <Problem error={problem} />}
      <details>
        <summary>Schema</summary>
        <JSONView value={(tool.parameters ?? {}) as never} label={`schema of ${tool.name}`} />
      </details>
    </details>
  );
}
