// The shell: three panes, the bar below, and which thread is open.
import { effect, signal } from '@preact/signals';
import { render } from 'preact';
import { useEffect, useMemo } from 'preact/hooks';
import { AgentsView } from './agents';
import { locked, newID } from './api';
import { Chat } from './chat';
import { Conversation } from './conversation';
import { Details, RunBar } from './details';
import { recordOf } from './follow';
import { short } from './format';
import { Icon } from './icons';
import { listen, overlay } from './keys';
import { narrow, pane, showDetails, toggleDetails } from './layout';
import { agents, approvals, loadAgents, poll, threads } from './lists';
import { Help, Locked, Palette } from './overlays';
import { address, go, route } from './route';
import { RunsView } from './runs';
import { nameOf, Sidebar } from './sidebar';
import { WaitingView } from './waiting';

// told is what a screen reader is told: states and whole answers.
const told = signal('');

// fresh is the thread that the next message begins; it keeps its id until it has one.
let fresh: Conversation | undefined;

function open(id: string): Conversation {
  if (id && fresh?.id === id) return fresh;
  if (id) return new Conversation(id, false);
  fresh?.close();
  fresh = new Conversation(newID(), true);
  return fresh;
}

function Page() {
  const { view, thread, agent } = route.value;
  const conversation = useMemo(() => open(thread), [thread]);
  useEffect(() => () => conversation !== fresh && conversation.close(), [conversation]);
  const active = conversation.active.value;
  useEffect(() => {
    if (active && route.value.view === 'thread' && !route.value.thread) go({ thread: conversation.id });
    void threads.read();
  }, [active]);
  useEffect(() => listen(() => void conversation.stop()), [conversation]);
  useEffect(() => watchTab(conversation), [conversation]);
  useEffect(() => {
    if (narrow.value) pane.value = 'chat';
  }, [view, thread]);
  const run = route.value.run || active?.id || conversation.messages.value.findLast((m) => m.run_id)?.run_id || '';
  const summary = threads.items.value?.find((t) => t.thread_id === thread);
  const name = view !== 'thread' ? '' : summary ? nameOf(summary) : thread ? short(thread) : 'New thread';
  document.title = name ? `${name} · Reveille` : 'Reveille';
  const details = view === 'thread' && (narrow.value ? pane.value === 'run' : showDetails.value);
  const Left = narrow.value ? 'main' : 'div'; // alone it is what the page is about
  const Right = narrow.value ? 'main' : 'aside';
  return (
    <>
      {locked.value && <Locked />}
      <div class={`shell${details ? ' with-details' : ''}`} data-narrow={narrow.value ? pane.value : undefined}>
        {(!narrow.value || pane.value === 'threads') && (
          <Left class="left" data-pane="threads">
            {narrow.value && <h1 class="hidden">Threads</h1>}
            <Sidebar />
          </Left>
        )}
        {(!narrow.value || pane.value === 'chat' || (view !== 'thread' && pane.value === 'run')) && (
          <main class="centre" data-pane="chat" tabIndex={-1}>
            {view === 'thread' && (
              <header class="head">
                <h1 title={thread}>{name}</h1>
                <AgentPicker conversation={conversation} agent={agent} />
                {!narrow.value && (
                  <button type="button" class="icon-button" aria-label="Run details" aria-pressed={showDetails.value} onClick={toggleDetails}><Icon name="panel" /></button>
                )}
                <button type="button" class="icon-button" aria-label="Keys" onClick={() => (overlay.value = 'help')}><Icon name="help" /></button>
              </header>
            )}
            {view === 'thread' && <Chat key={conversation.id} conversation={conversation} agent={agentOf(conversation, agent)} />}
            {view === 'waiting' && <WaitingView />}
            {view === 'runs' && <RunsView />}
            {view === 'agents' && <AgentsView />}
          </main>
        )}
        {details && (
          <Right class="right" data-pane="run" aria-label="Run">
            {narrow.value && <h1 class="hidden">Run</h1>}
            <Details run={run} thread={thread || conversation.id} agent={agentOf(conversation, agent)} />
          </Right>
        )}
        {view === 'thread' && <RunBar run={run} />}
        {narrow.value && <BottomTabs />}
      </div>
      {overlay.value === 'help' && <Help />}
      {overlay.value === 'palette' && <Palette />}
      <div class="hidden" role="status" aria-live="polite">{told.value}</div>
    </>
  );
}

// agentOf is who is talked to: the thread's agent, else the chosen one, else the default.
function agentOf(conversation: Conversation, chosen: string): string {
  return picked.value[conversation.id] ?? (conversation.active.value?.agent || conversation.info.value?.agent_id || chosen);
}

// picked are the agents that were chosen for a thread's next message.
const picked = signal<Record<string, string>>({});

function AgentPicker({ conversation, agent }: { conversation: Conversation; agent: string }) {
  const all = agents.value;
  if (!all || all.length === 0) return null;
  const current = agentOf(conversation, agent) || all.find((a) => a.default)?.id || '';
  return (
    <select class="agent" aria-label="Agent" value={current} onChange={(e) => (picked.value = { ...picked.value, [conversation.id]: e.currentTarget.value })}>
      {!all.some((a) => a.id === current) && <option value={current}>{current || 'default'}</option>}
      {all.map((a) => <option key={a.id} value={a.id}>{a.id}</option>)}
    </select>
  );
}

function BottomTabs() {
  const tab = (id: typeof pane.value, word: string) => (
    <button type="button" aria-current={pane.value === id ? 'page' : undefined} onClick={() => (pane.value = id)}>{word}</button>
  );
  const waits = approvals.items.value?.length ?? 0;
  return (
    <nav class="bottom" aria-label="Panes">
      {tab('threads', waits ? `Threads (${waits})` : 'Threads')}
      {tab('chat', 'Chat')}
      {tab('run', 'Run')}
    </nav>
  );
}

// watchTab looks again whenever somebody comes back, and now and then while a run waits.
function watchTab(conversation: Conversation): () => void {
  const look = () => {
    if (!document.hidden && (!conversation.fresh || conversation.active.value) && conversation.loaded.value) void conversation.sync().catch(() => {});
  };
  const timer = setInterval(() => conversation.active.value?.connection.value !== 'open' && look(), 5000);
  document.addEventListener('visibilitychange', look);
  addEventListener('focus', look);
  let before = '';
  const said = effect(() => {
    const r = conversation.active.value;
    r?.version.value;
    const now = !r ? '' : r.complete ? `The agent says: ${lastText(r.id)}` : r.tickets.length ? `Waiting for you: ${r.tickets[0].call.name}` : 'The agent works.';
    if (now !== before) {
      before = now;
      told.value = now;
      void threads.read();
      void approvals.read();
    }
  });
  return () => {
    clearInterval(timer);
    document.removeEventListener('visibilitychange', look);
    removeEventListener('focus', look);
    said();
  };
}

const lastText = (run: string) => recordOf(run).steps.at(-1)?.blocks.filter((b) => b.type === 'text').map((b) => b.text).join(' ').slice(0, 2000) ?? '';

void loadAgents();
poll(threads, approvals);
addEventListener('hashchange', () => (pane.value = 'chat'));
if (location.hash === '') history.replaceState(null, '', address({}));
render(<Page />, document.body);
