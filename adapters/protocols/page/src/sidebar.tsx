// The left side: the views, and below them the threads. There is one list of views at all
// widths: a column, a rail with words, or tabs at the bottom.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { call, reached, segment } from './api';
import { closeDialog, Dialog } from './dialog';
import { ago } from './format';
import { coded } from './hidden';
import { Icon, Status, outcome, type IconName } from './icons';
import { closeDrawers, open, rail, setTheme, theme, toggled, type Theme } from './layout';
import { approvals, threadSearch, threads, type ThreadSummary } from './lists';
import { Problem } from './problem';
import { address, go, route, type Route, type View } from './route';

// changing is the thread whose dialog is open.
const changing = signal<ThreadSummary | undefined>(undefined);

// talked is the thread that was open last: the chat goes back to it.
let talked = '';

const views: [view: View, word: string, icon: IconName][] = [
  ['thread', 'Chat', 'chat'],
  ['waiting', 'Waiting', 'inbox'],
  ['runs', 'Runs', 'list'],
  ['agents', 'Agents', 'agent'],
  ['models', 'Models', 'plug'],
  ['usage', 'Usage', 'gauge'],
];

export function Nav() {
  const here = route.value.view === 'run' ? 'runs' : route.value.view;
  if (route.value.view === 'thread') talked = route.value.thread;
  const waits = approvals.items.value?.length ?? 0;
  const to = (view: View): Partial<Route> => (view === 'thread' ? { thread: talked } : { view });
  return (
    <nav class="nav" aria-label="Main" data-pane="nav">
      <a class="brand" href={address({})} aria-label="Reveille"><Mark /><span>Reveille</span></a>
      <a class="new" href={address({})}><Icon name="plus" /> New thread <kbd>n</kbd></a>
      {views.map(([view, word, icon]) => (
        <a key={view} href={address(to(view))} aria-current={view === here ? 'page' : undefined}>
          <Icon name={icon} />
          {word}
          {view === 'waiting' && waits > 0 && <span class="badge">{waits}{approvals.more.value && '+'}<span class="hidden"> calls</span></span>}
        </a>
      ))}
    </nav>
  );
}

function Mark() {
  return (
    <svg class="mark" viewBox="0 0 18 18" aria-hidden="true">
      <path d="M1 3h9v3H1zM12 13h5v3h-5z" />
      <path class="lit" d="M6 8h4v3H6zM13 8h4v3h-4z" />
    </svg>
  );
}

export function Threads() {
  const drawn = !rail.value || open.value === 'threads';
  return (
    <aside class="threads" id="threads" popover="auto" aria-label="Threads" data-pane="threads" onToggle={toggled('threads')} onBeforeToggle={toggled('threads')}>
      {drawn && (
        <>
          {rail.value && (
            <div class="threads-top">
              <a class="button grow" href={address({})} onClick={closeDrawers}><Icon name="plus" /> New thread</a>
              <button type="button" class="icon-button" aria-label="Close" onClick={closeDrawers}><Icon name="cross" /></button>
            </div>
          )}
          {!threads.missing.value && <ThreadList />}
          <Foot />
        </>
      )}
      {changing.value && <ThreadDialog thread={changing.value} />}
    </aside>
  );
}

const local = /^(localhost|127\.\d+\.\d+\.\d+|\[::1\])$/.test(location.hostname);

function Foot() {
  return (
    <div class="foot">
      <a class="more-views" href={address({ view: 'models' })}>Models</a>
      <a class="more-views" href={address({ view: 'usage' })}>Usage</a>
      {reached.value ? <span class="status done"><Icon name="check" />{local ? 'local host' : 'connected'}</span> : <span class="status failed"><Icon name="cross" />no host</span>}
      <span class="segments" role="group" aria-label="Colors">
        {(['light', 'dark'] as Theme[]).map((t) => (
          <button key={t} type="button" aria-pressed={theme.value === t} onClick={() => setTheme(theme.value === t ? 'auto' : t)}>{t === 'light' ? 'Light' : 'Dark'}</button>
        ))}
      </span>
    </div>
  );
}

function ThreadList() {
  const items = threads.items.value;
  const search = threadSearch.value;
  useEffect(() => {
    const timer = setTimeout(() => void threads.reset(), 150);
    return () => clearTimeout(timer);
  }, [search]);
  return (
    <>
      <div class="find">
        <Icon name="search" />
        <input id="search" type="search" aria-label="Search threads" placeholder="Search threads" value={search} onInput={(e) => (threadSearch.value = e.currentTarget.value)} />
        <kbd>/</kbd>
      </div>
      <div class="thread-list" role="group" aria-label="Threads">
        {threads.problem.value !== undefined && <Problem error={threads.problem.value} />}
        {groups(items ?? []).map(([word, some]) => (
          <section key={word} aria-label={word}>
            <h2>{word}</h2>
            <ul>{some.map((t) => <ThreadRow key={t.thread_id} thread={t} />)}</ul>
          </section>
        ))}
        {items?.length === 0 && <p class="meta padded">{search ? 'No thread matches.' : 'No thread yet. The first message makes one and gives it its name.'}</p>}
        {threads.more.value && <button type="button" class="small" onClick={() => void threads.readMore()}>More</button>}
      </div>
    </>
  );
}

// asks reports whether a thread that waits asks a person or a client, as far as the approvals that
// were read tell: otherwise it waits for a child run or a time.
const asks = (thread: string) => !approvals.items.value || approvals.more.value || approvals.items.value.some((a) => a.thread_id === thread);

// groups sorts threads by what they want of a person. Within a group their order stays.
function groups(items: ThreadSummary[]): [string, ThreadSummary[]][] {
  const midnight = new Date().setHours(0, 0, 0, 0);
  const all: Record<string, ThreadSummary[]> = { 'Waiting for you': [], Running: [], Today: [], Earlier: [] };
  for (const t of items) {
    const word = t.active_run?.status === 'waiting' && asks(t.thread_id) ? 'Waiting for you' : t.active_run ? 'Running' : t.last_activity >= midnight ? 'Today' : 'Earlier';
    all[word].push(t);
  }
  return Object.entries(all).filter(([, some]) => some.length);
}

// nameOf is what a thread is called: its title, else how it began. It is never an id.
export const nameOf = (t: ThreadSummary) => coded(t.title || (t.first_asked || t.asked || t.excerpt || '').trim().split('\n')[0].slice(0, 80), true) || 'Untitled thread';

function ThreadRow({ thread }: { thread: ThreadSummary }) {
  const here = route.value.view === 'thread' && route.value.thread === thread.thread_id;
  const last = thread.last_run;
  const state = thread.active_run?.status ?? (last ? outcome(last.status, last.termination) : '');
  const name = nameOf(thread);
  const failed = state === 'error';
  return (
    <li class={here ? 'selected' : ''}>
      <a href={address({ thread: thread.thread_id })} class="row-link" aria-current={here ? 'page' : undefined} data-row>
        {state === 'waiting' ? <Asks thread={thread.thread_id} /> : state !== '' && state !== 'natural_end' && <Status name={state} quiet />}
        <span class="cut grow" dir="auto">{name}</span>
        <span class="meta">{failed && 'failed, '}{ago(thread.last_activity, Date.now())}</span>
      </a>
      <button type="button" class="icon-button more" aria-label={`Change ${name}`} onClick={() => (changing.value = thread)}><Icon name="more" /></button>
    </li>
  );
}

// Asks says what a thread waits for: a decision, or an answer.
function Asks({ thread }: { thread: string }) {
  if (!asks(thread)) return <span class="status waiting"><Icon name="clock" /><span class="hidden">waits</span></span>;
  const question = approvals.items.value?.find((a) => a.thread_id === thread)?.kind === 'client';
  return <span class="status waiting"><Icon name={question ? 'ask' : 'hand'} /><span class="hidden">{question ? 'waits for an answer' : 'waits for a decision'}</span></span>;
}
function ThreadDialog({ thread }: { thread: ThreadSummary }) {
  const [title, setTitle] = useState(thread.title ?? '');
  const [sure, setSure] = useState(false);
  const [problem, setProblem] = useState<unknown>(undefined);
  const path = `v1/threads/${segment(thread.thread_id)}`;
  const close = () => (changing.value = undefined);
  const act = async (f: () => Promise<unknown>) => {
    try {
      await f();
      await threads.read();
      closeDialog();
    } catch (e) {
      setProblem(e);
    }
  };
  const rename = () => act(() => call('PATCH', path, { title: title.trim() || null }));
  const remove = () =>
    act(async () => {
      const here = route.value.thread === thread.thread_id;
      if (here) go({}); // first: no request asks for what is gone
      try {
        await call('DELETE', path);
      } catch (e) {
        if (here) go({ thread: thread.thread_id });
        throw e;
      }
    });
  return (
    <Dialog title="Thread" onClose={close}>
      <form onSubmit={(e) => (e.preventDefault(), void rename())}>
        <div class="field">
          <label for="title">Name</label>
          <input id="title" autofocus value={title} maxLength={200} placeholder={nameOf(thread)} onInput={(e) => setTitle(e.currentTarget.value)} />
        </div>
        <p class="meta">{thread.thread_id}</p>
        {problem !== undefined && <Problem error={problem} />}
        <div class="actions">
          <button type="submit" class="primary">Rename</button>
          {sure ? (
            <button type="button" class="danger" onClick={() => void remove()}>Delete permanently</button>
          ) : (
            <button type="button" onClick={() => setSure(true)}>Delete…</button>
          )}
        </div>
        {sure && <p class="meta" role="status">This deletes its messages, runs and state, and those of its child threads. You cannot undo it.</p>}
      </form>
    </Dialog>
  );
}
