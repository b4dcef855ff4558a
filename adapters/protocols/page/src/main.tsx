// The shell: which view is shown, and the panes around it.
import './guard';
import { signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { AgentsView } from './agents';
import { locked, newID } from './api';
import { RunBar } from './bar';
import { Chat } from './chat';
import { Conversation } from './conversation';
import { Details } from './details';
import { follow, recordOf } from './follow';
import { Head } from './head';
import { coded } from './hidden';
import { Icon, Status } from './icons';
import { listen, overlay } from './keys';
import { closeDrawers, narrow, open, revealDetails, showDetails, tight, toggleDetails, toggled } from './layout';
import { agents, approvals, loadAgents, poll, threads } from './lists';
import { ModelsView } from './models';
import { Gone, Help, Locked, Palette } from './overlays';
import { address, chosen, go, route } from './route';
import { RunPage } from './runpage';
import { RunsView } from './runs';
import { nameOf, Nav, Threads } from './sidebar';
import { UsageView } from './usage';
import { WaitingView } from './waiting';
import { told, watchTab } from './watch';

// fresh is the thread that the next message begins; it keeps its id until it has one.
let fresh: Conversation | undefined;

function conversationOf(id: string): Conversation {
  if (id && fresh?.id === id) return fresh;
  if (id) return new Conversation(id, false);
  fresh?.close();
  fresh = new Conversation(newID(), true);
  return fresh;
}

const views = { waiting: WaitingView, runs: RunsView, agents: AgentsView, models: ModelsView, usage: UsageView };

function Page() {
  const { view, thread, run } = route.value;
  const conversation = useMemo(() => conversationOf(thread), [thread]);
  useEffect(() => () => conversation !== fresh && conversation.close(), [conversation]);
  useEffect(() => listen(() => void conversation.stop()), [conversation]);
  useEffect(() => watchTab(conversation), [conversation]);
  const active = conversation.active.value;
  useEffect(() => {
    if (active && route.value.view === 'thread' && !route.value.thread) go({ thread: conversation.id });
    void threads.read();
  }, [active]);
  const Other = view === 'thread' || view === 'run' ? undefined : views[view];
  return (
    <>
      {locked.value && <Locked />}
      <Gone />
      <div class="shell">
        <Nav />
        <Threads />
        {view === 'thread' && <ThreadView conversation={conversation} />}
        {view === 'run' && <RunPage key={run} run={run} />}
        {Other && <main class="main" data-pane="main" tabIndex={-1}><Other /></main>}
      </div>
      {overlay.value === 'help' && <Help />}
      {overlay.value === 'palette' && <Palette />}
      <div class="hidden" role="status" aria-live="polite">{coded(told.value, true)}</div>
    </>
  );
}

// threadName is what the thread is called, also where no list has it.
function threadName(conversation: Conversation): string {
  const { thread } = route.value;
  if (!thread) return 'New thread';
  const summary = threads.items.value?.find((t) => t.thread_id === thread);
  if (summary) return nameOf(summary);
  const first = conversation.older.value ? undefined : conversation.messages.value.find((m) => m.role === 'user');
  return conversation.info.value?.title || first?.content?.find((b) => b.text)?.text?.trim().split('\n')[0].slice(0, 80) || 'Thread';
}

function ThreadView({ conversation }: { conversation: Conversation }) {
  const { thread, run: given, step, call, tab, agent: wanted } = route.value;
  const active = conversation.active.value;
  active?.version.value;
  const run = given || active?.id || conversation.messages.value.findLast((m) => m.run_id)?.run_id || '';
  const agent = agentOf(conversation, wanted);
  const name = coded(threadName(conversation), true);
  const begun = !!thread || !!run; // before, there is no run to look at
  const shown = begun && (tight.value ? open.value === 'details' : showDetails.value);
  useEffect(() => {
    if (run) void follow(recordOf(run)); // the bar shows it also where no pane does
  }, [run]);
  useEffect(() => {
    if (given || step || call || tab) revealDetails(); // the address names something of the run
  }, [thread, chosen.value]);
  return (
    <>
      <main class="main" data-pane="main" tabIndex={-1}>
        <Head title={name} hint={thread} state={active && !active.complete && <Status name={active.status} />}>
          {(!narrow.value || !thread) && <AgentPicker conversation={conversation} agent={agent} />}
          {begun && <button type="button" class="icon-button" aria-label="Run details" aria-pressed={shown} onClick={toggleDetails}><Icon name="panel" /></button>}
          <button type="button" class="icon-button wide-only" aria-label="Keys" onClick={() => (overlay.value = 'help')}><Icon name="help" /></button>
        </Head>
        <Chat key={conversation.id} conversation={conversation} agent={agent} />
        {begun && <RunBar run={run} />}
      </main>
      {begun && (tight.value || shown) && (
        <aside class="side" id="details" popover="auto" aria-label="Run" data-pane="side" onToggle={toggled('details')} onBeforeToggle={toggled('details')}>
          {shown && (
            <>
              {tight.value && <button type="button" class="icon-button close" aria-label="Close" onClick={closeDrawers}><Icon name="cross" /></button>}
              <Details run={run} thread={thread || conversation.id} agent={agent} />
            </>
          )}
        </aside>
      )}
    </>
  );
}

// agentOf is who is talked to: the thread's agent, else the chosen one, else the default.
function agentOf(conversation: Conversation, wanted: string): string {
  return picked.value[conversation.id] ?? (conversation.active.value?.agent || conversation.info.value?.agent_id || wanted);
}

// picked are the agents that were chosen for a thread's next message.
const picked = signal<Record<string, string>>({});

function AgentPicker({ conversation, agent }: { conversation: Conversation; agent: string }) {
  const all = agents.value;
  if (!all || all.length === 0) return null;
  const current = all.find((a) => (agent ? a.id === agent : a.default));
  const model = current?.answers?.[0]?.name || current?.model;
  return (
    <>
      <label class="agent">
        <Icon name="agent" />
        <select aria-label="Agent" value={current?.id ?? agent} onChange={(e) => (picked.value = { ...picked.value, [conversation.id]: e.currentTarget.value })}>
          {!current && <option value={agent}>{agent || 'default'}</option>}
          {all.map((a) => <option key={a.id} value={a.id}>{a.id}</option>)}
        </select>
      </label>
      {model && <span class="chip wide-only"><Icon name="model" />{model}</span>}
    </>
  );
}

void loadAgents();
poll(threads, approvals);
if (location.hash === '') history.replaceState(null, '', address({}));
render(<Page />, document.body);
