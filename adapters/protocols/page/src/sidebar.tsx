// The left pane: what there is, and where one is.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { call, segment } from './api';
import { closeDialog, Dialog } from './dialog';
import { ago, short } from './format';
import { Icon, Status, outcome } from './icons';
import { approvals, threadSearch, threads, type ThreadSummary } from './lists';
import { explain, Problem } from './problem';
import { address, go, route } from './route';

// changing is the thread whose dialog is open.
const changing = signal<ThreadSummary | undefined>(undefined);

export function Sidebar() {
  const view = route.value.view;
  const waits = approvals.items.value?.length ?? 0;
  return (
    <nav class="sidebar" aria-label="Threads">
      <div class="sidebar-top">
        <a class="button" href={address({})} data-key="n"><Icon name="plus" /> New thread</a>
      </div>
      <div class="views">
        <a href={address({ view: 'waiting' })} aria-current={view === 'waiting' ? 'page' : undefined}>Waiting {waits > 0 && <span class="badge">{waits}<span class="hidden"> calls</span></span>}</a>
        <a href={address({ view: 'runs' })} aria-current={view === 'runs' ? 'page' : undefined}>Runs</a>
        <a href={address({ view: 'agents' })} aria-current={view === 'agents' ? 'page' : undefined}>Agents</a>
      </div>
      {!threads.missing.value && <ThreadList />}
      {changing.value && <ThreadDialog thread={changing.value} />}
    </nav>
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
      <div class="search">
        <Icon name="search" />
        <input id="search" type="search" aria-label="Search threads" placeholder="Search threads" value={search} onInput={(e) => (threadSearch.value = e.currentTarget.value)} />
      </div>
      {threads.problem.value !== undefined && <p class="meta padded" role="status">{explain(threads.problem.value).title}</p>}
      <ul class="threads" aria-label="Threads">
        {items?.map((t) => <ThreadRow key={t.thread_id} thread={t} />)}
      </ul>
      {items?.length === 0 && <p class="meta padded">{search ? 'No thread matches.' : 'No thread yet.'}</p>}
      {threads.more.value && <button type="button" class="small" onClick={() => void threads.readMore()}>More</button>}
    </>
  );
}

// nameOf is what a thread is called: its title, else what it was asked, else its id.
export const nameOf = (t: ThreadSummary) => t.title || (t.asked || t.excerpt || '').trim().split('\n')[0].slice(0, 80) || short(t.thread_id);

function ThreadRow({ thread }: { thread: ThreadSummary }) {
  const here = route.value.view === 'thread' && route.value.thread === thread.thread_id;
  const last = thread.last_run;
  const state = thread.active_run?.status ?? (last ? outcome(last.status, last.termination) : '');
  const name = nameOf(thread);
  return (
    <li class={here ? 'selected' : ''}>
      <a href={address({ thread: thread.thread_id })} class="row-link" aria-current={here ? 'page' : undefined} data-row>
        <span class="name">{name}</span>
        {state !== '' && state !== 'natural_end' && <Status name={state} quiet />}
        <span class="meta">{ago(thread.last_activity, Date.now())}</span>
      </a>
      <button type="button" class="icon-button more" aria-label={`Change ${name}`} onClick={() => (changing.value = thread)}><Icon name="more" /></button>
    </li>
  );
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
      if (here) go({}); // first: nobody should ask for what is gone
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
