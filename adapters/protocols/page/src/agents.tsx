// The agents: what each is, who answers for it, and a form for each of its tools.
import { useState } from 'preact/hooks';
import { Refused, newID } from './api';
import { begin } from './follow';
import { SchemaForm } from './form';
import { count } from './format';
import { Head } from './head';
import { Icon } from './icons';
import { Copy, JSONView } from './json';
import { agents, detail, type AgentDetail, type AgentTool } from './lists';
import { Problem } from './problem';
import { address, go, route } from './route';

export function AgentsView() {
  const all = agents.value;
  const id = route.value.agent || all?.find((a) => a.default)?.id || all?.[0]?.id || '';
  if (all && !all.length) return <><Head title="Agents" /><div class="body"><p class="empty">This host does not list its agents.</p></div></>;
  return (
    <>
      <Head title={id || 'Agents'} state={all?.find((a) => a.id === id)?.default && <span class="chip">default</span>}>
        {id && <a class="button wide-only" href={address({ view: 'runs', agent: id })}><Icon name="list" /> Runs</a>}
        {id && <a class="button primary" href={address({ agent: id })}><Icon name="chat" /> Talk to it</a>}
      </Head>
      <nav class="agent-tabs" aria-label="Agents" data-rows>
        {all?.map((a) => <a key={a.id} href={address({ view: 'agents', agent: a.id })} aria-current={a.id === id ? 'page' : undefined} data-row><Icon name="agent" />{a.id}</a>)}
      </nav>
      <div class="body">{id && <AgentView key={id} id={id} />}</div>
    </>
  );
}

const modes: Record<string, string> = {
  sequential: 'one after the other', parallel_batch_approval: 'side by side; the run continues when all are decided', parallel_streaming: 'side by side; each continues when it is decided',
};

function AgentView({ id }: { id: string }) {
  const agent = detail(id).value;
  if (agent instanceof Error) return <Problem error={agent} />;
  if (!agent) return null;
  return (
    <div class="console">
      <div class="stack large">
        <section class="sheet" aria-label={`Agent ${id}`}>
          <header><h2>About</h2></header>
          <p class="in" dir="auto">{agent.description ?? 'No description.'}</p>
        </section>
        <section class="sheet" aria-label="Tools">
          <header><h2>Tools</h2><span class="meta">{count(agent.tools.length, 'tool')}, each with a form of its schema</span></header>
          {agent.tools.length === 0 && <p class="in meta">No tools.</p>}
          {agent.tools.map((t) => <ToolView key={t.name} agent={agent} tool={t} />)}
        </section>
      </div>
      <div class="stack large">
        <Settings agent={agent} />
        {agent.delegates.length > 0 && (
          <section class="sheet" aria-label="Delegates">
            <header><h2>Delegates</h2><span class="meta">agents that it may call</span></header>
            <ul>{agent.delegates.map((d) => <li key={d} class="tool-row"><Icon name="fork" /><a href={address({ view: 'agents', agent: d })}>{d}</a></li>)}</ul>
          </section>
        )}
      </div>
    </div>
  );
}

// Settings are what the program gives the agent; they are read, not changed.
function Settings({ agent }: { agent: AgentDetail }) {
  return (
    <section class="sheet" aria-label="Settings">
      <header><h2>Settings</h2><span class="meta">of the program</span></header>
      <dl class="facts in">
        <dt>Model</dt><dd><a href={address({ view: 'models' })}>{agent.model}</a></dd>
        {agent.answers && <><dt>Responds</dt><dd>{agent.answers.map((a) => (a.scripted ? 'the scripted model' : `${a.provider}, ${a.name}`)).join(', then ')}</dd></>}
        {agent.max_rounds ? <><dt>Steps at most</dt><dd>{agent.max_rounds.toLocaleString()}</dd></> : null}
        {agent.execution_mode && <><dt>Calls of one step</dt><dd>{modes[agent.execution_mode] ?? agent.execution_mode}</dd></>}
        {agent.context_window ? <><dt>Window</dt><dd>{agent.context_window.toLocaleString()} tokens{agent.window_assumed && ', assumed'}</dd></> : null}
        {agent.inputs && <><dt>Accepts</dt><dd>{agent.inputs.join(', ')}</dd></>}
        {agent.plugins.length > 0 && <><dt>Plugins</dt><dd>{agent.plugins.join(', ')}</dd></>}
      </dl>
    </section>
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
  const scripted = agent.answers?.every((a) => a.scripted) ?? true;
  return (
    <details class="tool">
      <summary>
        <Icon name="tool" /> <span class="call-name">{tool.name}</span> <span class="call-line">{tool.description}</span> {tool.client && <span class="meta">runs in the client</span>}
      </summary>
      <SchemaForm schema={tool.parameters} verb="Ask for this call" busy={busy} onSubmit={(v) => void ask(v)} onChange={(v) => setSaid(`call: ${tool.name} ${JSON.stringify(v)}`)} />
      <p class="meta">
        This sends the agent a message on a new thread{scripted ? ', which the scripted model turns into the call' : ' that asks for the call'}: <code>{said}</code> <Copy text={said} label="Copy the message" />
      </p>
      {problem !== undefined && <Problem error={problem} />}
      <details>
        <summary>Schema</summary>
        <JSONView value={(tool.parameters ?? {}) as never} label={`schema of ${tool.name}`} />
      </details>
    </details>
  );
}
