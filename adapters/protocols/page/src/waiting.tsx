// Everything that waits for an answer of a person: what ends first is first.
import { useEffect, useLayoutEffect, useRef, useState } from 'preact/hooks';
import { isQuestion } from './asked';
import { BatchBar } from './batch';
import { outcomeOf } from './decisions';
import { Due } from './due';
import { changedIn, editOf, type Arguments } from './edits';
import { useEscape } from './escape';
import { ago, count, moment, short } from './format';
import { Head } from './head';
import { Shown, coded, hiddenIn } from './hidden';
import { Icon } from './icons';
import { against, decideAll, groups, rowOf } from './inbox';
import { letters } from './keys';
import { rail } from './layout';
import { approvals, threads } from './lists';
import { Preview } from './preview';
import { Problem, explain } from './problem';
import { address, go, route, select } from './route';
import { nameOf } from './sidebar';
import { Told, tell } from './told';
import type { Approval } from './types';

const changed = (a: Approval) => changedIn(a.arguments as Arguments, editOf(`${a.run_id}/${a.suspension_id}`, a.arguments as Arguments)).length > 0;

// titleOf is what the thread is called in which something waits.
export function titleOf(a: Approval): string {
  const summary = threads.items.value?.find((t) => t.thread_id === a.thread_id);
  return coded(a.thread_title || (summary ? nameOf(summary) : ''), true);
}

// shownOf are the items that the filters let through, and that have no answer yet.
function shownOf(items: Approval[]): Approval[] {
  const { status, agent } = route.value;
  return items.filter((a) => !outcomeOf(a.run_id, a) && (!agent || a.agent_id === agent) && (!status || isQuestion(a) === (status === 'questions')));
}

export function WaitingView() {
  const list = useRef<HTMLDivElement>(null);
  const [chosen, setChosen] = useState<string[]>([]);
  const [failed, setFailed] = useState<Record<string, unknown>>({});
  const [busy, setBusy] = useState(false);
  const [notice, setNotice] = useState('');
  const all = approvals.items.value;
  const items = groups(shownOf(all ?? []), Date.now());
  const flat = items.flatMap((g) => g.items);
  const batch = flat.filter((a) => chosen.includes(a.suspension_id) && !against(a, changed(a), []));
  const named = flat.find((a) => a.suspension_id === route.value.call);
  const current = named ?? (rail.value ? undefined : flat[0]);
  useEscape(batch.length > 0, () => setChosen([]));
  useEscape(rail.value && !!named, () => back());
  useEffect(() => void (document.title = 'Waiting · Reveille'), []);
  const focusRow = (id: string | undefined) =>
    requestAnimationFrame(() => (id ? list.current?.querySelector<HTMLElement>(`[data-row="${CSS.escape(id)}"]`) : list.current)?.focus());
  const back = () => {
    select({ call: '' });
    focusRow(named?.suspension_id);
  };
  const after = (answered: string) => {
    const at = flat.findIndex((a) => a.suspension_id === answered);
    const next = flat[at + 1] ?? flat[at - 1];
    const won = at < 0 ? undefined : outcomeOf(flat[at].run_id, flat[at]);
    setNotice(won?.others ? `Another user was faster: ${rowOf(flat[at]).join(' ')} is ${won.action === 'resume' ? 'approved' : 'denied'}.` : '');
    select({ call: rail.value ? '' : next?.suspension_id ?? '' });
    focusRow(next?.suspension_id);
    setTimeout(() => void approvals.read(), 400);
  };
  const toggle = (a: Approval) => {
    const why = against(a, changed(a), batch.filter((b) => b !== a));
    if (why) return tell(why);
    setChosen(chosen.includes(a.suspension_id) ? chosen.filter((id) => id !== a.suspension_id) : [...chosen, a.suspension_id]);
  };
  const decideBatch = async (action: 'resume' | 'cancel', reason?: string) => {
    if (busy || !batch.length) return;
    setBusy(true);
    const bad = await decideAll(batch, { action, ...(reason && { reason }) });
    const left = Object.keys(bad);
    setFailed(bad);
    setChosen(left);
    setBusy(false);
    tell(`${count(batch.length - left.length, 'call')} ${action === 'resume' ? 'approved' : 'denied'}${left.length ? `, ${left.length} failed` : ''}.`);
    focusRow(left[0] ?? flat.find((a) => !batch.includes(a))?.suspension_id);
    setTimeout(() => void approvals.read(), 400);
  };
  useKeys(list, { flat, current, batch: batch.length, toggle, move: (id) => (rail.value || select({ call: id }), focusRow(id)), back });
  const row = (a: Approval) => (
    <Row
      key={a.suspension_id} item={a} here={a === current} chosen={batch.includes(a)} error={failed[a.suspension_id]}
      why={against(a, changed(a), batch.filter((b) => b !== a))} batching={batch.length > 0} onToggle={() => toggle(a)}
    />
  );
  return (
    <>
      <Head title="Waiting" state={flat.length > 0 && <span class="meta wide-only">in {count(new Set(flat.map((a) => a.thread_id)).size, 'thread')}</span>}>
        <Filters items={all ?? []} />
      </Head>
      <Told />
      <div class={`inbox${named ? ' looking' : ''}`} ref={list} tabIndex={-1}>
        <div class="inbox-list">
          {batch.length > 0 && <BatchBar items={batch} busy={busy} onApprove={() => void decideBatch('resume')} onDeny={(reason) => void decideBatch('cancel', reason)} onClear={() => setChosen([])} />}
          {approvals.problem.value !== undefined && <div class="pad"><Problem error={approvals.problem.value} /></div>}
          {notice && <p class="pad" role="status"><Shown text={notice} /></p>}
          {flat.length === 0 && all && <p class="empty">{all.length && (route.value.status || route.value.agent) ? 'Nothing of this kind waits.' : 'Nothing waits for you. Calls that need an answer appear here and in their chat.'}</p>}
          <div data-rows>
            {items.map((g) => (
              <section key={g.name} aria-label={g.name}>
                <div class="sect"><h2 class="label">{g.name}</h2><span class="meta">{g.items.length}</span></div>
                <ul>{g.items.map(row)}</ul>
              </section>
            ))}
          </div>
          {approvals.more.value && <div class="pad"><button type="button" onClick={() => void approvals.readMore()}>More</button></div>}
          {flat.length > 0 && <Hints />}
        </div>
        {current && <Preview key={current.suspension_id} item={current} at={flat.indexOf(current) + 1} of={flat.length} onBack={back} after={after} />}
      </div>
    </>
  );
}

// What the keys act on.
interface Acts {
  flat: Approval[];
  current: Approval | undefined;
  batch: number;
  toggle: (a: Approval) => void;
  move: (id: string) => void;
  back: () => void;
}

// useKeys installs the letters of the list. They work while the focus is in it, so that no
// stray letter answers anything.
function useKeys(list: { current: HTMLElement | null }, acts: Acts): void {
  const latest = useRef(acts);
  latest.current = acts;
  useLayoutEffect(() => {
    const press = (e: KeyboardEvent) => {
      const on = e.target as HTMLElement;
      if (!letters.value || e.defaultPrevented || e.ctrlKey || e.metaKey || e.altKey || e.isComposing || document.querySelector('dialog[open], :popover-open')) return;
      const box = on.matches?.('input[type="checkbox"], input[type="radio"]');
      if (!box && /^(INPUT|TEXTAREA|SELECT)$/.test(on.tagName)) return;
      if (!act(e, latest.current, !!list.current?.contains(on), on)) return;
      e.preventDefault();
      e.stopImmediatePropagation(); // elsewhere these letters do something else
    };
    addEventListener('keydown', press, true);
    return () => removeEventListener('keydown', press, true);
  }, []);
}

const press = (selector: string): boolean => {
  const button = document.querySelector<HTMLButtonElement>(selector);
  button?.click();
  return !!button;
};

// answer moves the focus to the answer of a question.
const answer = (): boolean => {
  const field = document.querySelector<HTMLElement>('.inbox .look #composer') ?? document.querySelector<HTMLElement>('.inbox .look :is(.chip, .answer-form :is(input, textarea, select))');
  field?.focus();
  return !!field;
};

function act(e: KeyboardEvent, { flat, current, batch, toggle, move }: Acts, inside: boolean, on: HTMLElement): boolean {
  if (e.key === 'j' || e.key === 'k') {
    const at = flat.findIndex((a) => a.suspension_id === (on.dataset?.row ?? current?.suspension_id));
    const next = flat[inside ? Math.min(flat.length - 1, Math.max(0, at + (e.key === 'j' ? 1 : -1))) : Math.max(0, at)];
    if (next) move(next.suspension_id);
    return !!next;
  }
  if (!inside) return false;
  const row = flat.find((a) => a.suspension_id === on.closest<HTMLElement>('[data-item]')?.dataset.item) ?? current;
  switch (e.key) {
    case 'x':
      if (row) toggle(row);
      return !!row;
    case 'o':
      if (row) go({ thread: row.thread_id, run: row.run_id });
      return !!row;
    case 'A':
      return batch > 0 && press('.batch [data-key="A"]');
    case 'D':
      return batch > 0 && press('.batch [data-key="D"]');
    case 'a':
    case 'd':
    case 'e':
      return row === current && (press(`.inbox .look [data-key="${e.key}"]`) || (e.key === 'a' && answer()));
  }
  return false;
}

function Filters({ items }: { items: Approval[] }) {
  const { status, agent } = route.value;
  const agents = [...new Set([...items.map((a) => a.agent_id), ...(agent ? [agent] : [])])].sort();
  const kind = (id: string, word: string) => <button type="button" aria-pressed={status === id} onClick={() => select({ status: id, call: '' })}>{word}</button>;
  return (
    <>
      <div class="segments" role="group" aria-label="Kind">{kind('', 'All')}{kind('approvals', 'Approvals')}{kind('questions', 'Questions')}</div>
      <select class="wide-only" aria-label="Agent" data-filter value={agent} onChange={(e) => select({ agent: e.currentTarget.value, call: '' })}>
        <option value="">Any agent</option>
        {agents.map((id) => <option key={id} value={id}>{id}</option>)}
      </select>
    </>
  );
}

interface RowProperties {
  item: Approval;
  here: boolean;
  chosen: boolean;
  why: string; // it cannot be chosen
  batching: boolean;
  error: unknown;
  onToggle: () => void;
}

function Row({ item, here, chosen, why, batching, error, onToggle }: RowProperties) {
  const question = isQuestion(item);
  const hidden = hiddenIn(item.arguments);
  const parts = rowOf(item);
  const name = parts.join(' ');
  const title = titleOf(item);
  const id = `why ${item.suspension_id}`.replaceAll(' ', '-');
  return (
    <li class={`item${here ? ' here' : ''}`} data-item={item.suspension_id}>
      <label class="item-box" title={why || undefined}>
        <span class="hidden">Select {coded(name)}</span>
        <input type="checkbox" checked={chosen} disabled={!!why && !chosen} onChange={onToggle} aria-describedby={why ? id : undefined} />
      </label>
      <Icon name={question ? 'ask' : 'hand'} />
      <a class="cut" href={address({ ...route.value, call: item.suspension_id })} data-row={item.suspension_id} aria-current={here ? 'true' : undefined} dir="auto" onFocus={() => rail.value || select({ call: item.suspension_id })} onClick={(e) => (e.preventDefault(), select({ call: item.suspension_id }))}>
        <strong>{parts.map((p, i) => <bdi key={i}>{i > 0 && ' '}<Shown text={p} prose={question} /></bdi>)}</strong>
      </a>
      <time class="meta" dateTime={new Date(item.created_at).toISOString()} title={moment(item.created_at)}>{ago(item.created_at, Date.now())}</time>
      <span class="under">
        <span class="meta">{question ? 'question' : 'approval'}, <Shown text={item.agent_id} />{title && <> in “<bdi>{title}</bdi>”</>}{item.parent && <>, for <a href={`#/runs/${item.parent.run_id}`}>run {short(item.parent.run_id)}</a></>}</span>
        {item.expires_at ? <Due from={item.created_at} at={item.expires_at} /> : <span class="meta">no deadline</span>}
        {hidden > 0 && <span class="status waiting"><Icon name="warn" /> {count(hidden, 'hidden character')}</span>}
        {why && <span id={id} class={batching ? 'meta' : 'hidden'}>{why}</span>}
        {error !== undefined && <span class="wrong" role="alert">{[explain(error).title, explain(error).detail].filter(Boolean).join(': ')}</span>}
      </span>
    </li>
  );
}

const hints = [['j k', 'move'], ['x', 'select'], ['a', 'approve'], ['d', 'deny'], ['e', 'edit'], ['o', 'open thread']];

const Hints = () => (
  <div class="wide-only">
    <p class="hints meta">{hints.map(([keys, what]) => <span key={what}>{keys.split(' ').map((k) => <kbd key={k}>{k}</kbd>)} {what}</span>)}</p>
    <p class="pad meta">A batch has calls of one tool. A call with hidden characters is never part of it: decide it by itself.</p>
  </div>
);
