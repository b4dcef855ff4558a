// The conversation of one thread.
import { useLayoutEffect, useMemo, useRef, useState } from 'preact/hooks';
import { Composer } from './composer';
import type { Conversation, Item } from './conversation';
import { useEscape } from './escape';
import { FileView } from './file';
import { FirstScreen } from './first';
import { focusOnce } from './focus';
import { Shown, coded } from './hidden';
import { Icon, Mark, Status, outcome } from './icons';
import { Copy } from './json';
import { OwnFiles } from './markdown';
import { Failure, Problem } from './problem';
import { go, route, select } from './route';
import { TurnView, textOf, turnMeta } from './turn';
import type { Block, Message } from './types';

export function Chat({ conversation, agent }: { conversation: Conversation; agent: string }) {
  const log = useRef<HTMLDivElement>(null);
  const bottom = useRef(true); // whether the reader stands at the very end
  const top = useRef(0);
  const [below, setBelow] = useState(false);
  const items = conversation.items.value;
  const toEnd = () => {
    const e = log.current;
    if (!e) return;
    e.scrollTo({ top: e.scrollHeight });
    top.current = e.scrollTop; // where a move of the reader begins
  };
  const jump = () => {
    bottom.current = true;
    setBelow(false);
    toEnd();
  };
  useLayoutEffect(() => {
    if (!items.length) return;
    if (bottom.current) toEnd();
    else setBelow(true);
  }, [items]);
  const column = useRef<HTMLDivElement>(null);
  useLayoutEffect(() => {
    // What comes later than the items, such as how the run ended, moves the end too.
    const grown = new ResizeObserver(() => bottom.current && conversation.items.value.length && toEnd());
    grown.observe(column.current!);
    return () => grown.disconnect();
  }, []);
  const scrolled = () => {
    const e = log.current;
    if (!e) return; // the event came after the view has gone
    // What has grown since is no move: only who scrolls up leaves the end.
    if (e.scrollHeight - e.scrollTop - e.clientHeight < 8) bottom.current = true;
    else if (e.scrollTop < top.current) bottom.current = false;
    top.current = e.scrollTop;
    if (bottom.current) setBelow(false);
    if (e.scrollTop < 200 && conversation.older.value) void older();
  };
  const loading = useRef(false);
  const older = async () => {
    if (loading.current) return;
    loading.current = true;
    const e = log.current!;
    const from = e.scrollHeight - e.scrollTop;
    await conversation.loadOlder().catch(() => {});
    requestAnimationFrame(() => (e.scrollTop = e.scrollHeight - from));
    loading.current = false;
  };
  const own = useMemo(() => filesOf(conversation.messages.value), [conversation.messages.value]);
  const said = () => {
    jump();
    if (route.value.run) select({ run: '', step: 0, call: '' }); // what comes is what is looked at
  };
  const send = (text: string) => {
    said();
    return conversation.say([{ type: 'text', text }], agent, 'queue');
  };
  return (
    <div class="chat">
      <div class="log" ref={log} onScroll={scrolled} tabIndex={0} role="log" aria-label="Conversation" aria-live="off">
        <div class="column" ref={column}>
          {conversation.older.value && <button type="button" class="small" onClick={() => void older()}>Older messages</button>}
          {conversation.problem.value !== undefined && <Problem error={conversation.problem.value} />}
          {conversation.loaded.value && !items.length && conversation.problem.value === undefined && (conversation.fresh ? <FirstScreen agent={agent} send={send} /> : <p class="empty">This thread has no messages yet.</p>)}
          <OwnFiles.Provider value={own}>
            {items.map((item, i) => <Row key={keyOf(item)} item={item} newest={i === items.length - 1 || items[i + 1].kind === 'end'} conversation={conversation} />)}
          </OwnFiles.Provider>
          <Ended conversation={conversation} />
        </div>
      </div>
      {below && <button type="button" class="below" onClick={jump}><Icon name="down" /> New below</button>}
      <Composer conversation={conversation} agent={agent} onSaid={said} />
    </div>
  );
}

// filesOf finds the files of a thread by their names and addresses.
function filesOf(messages: Message[]): (address: string) => Block | undefined {
  const files = new Map<string, Block>();
  for (const m of messages) for (const b of m.content ?? []) {
    if (b.type !== 'file' || !b.data) continue;
    for (const name of [b.filename, b.url]) if (name) files.set(name, b);
  }
  return (address) => files.get(address) ?? files.get(decoded(address));
}

function decoded(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // a model wrote it
  }
}

const keyOf = (i: Item) => (i.kind === 'said' ? i.message.id : i.kind === 'turn' ? `${i.turn.run}.${i.turn.step}` : i.kind === 'ended' ? `ended ${i.run.run_id}` : `end ${i.record.id}`);

function Row({ item, newest, conversation }: { item: Item; newest: boolean; conversation: Conversation }) {
  const [problem, setProblem] = useState<unknown>(undefined);
  if (item.kind === 'said') return <Said message={item.message} conversation={conversation} />;
  if (item.kind === 'end') return null;
  if (item.kind === 'ended') return <p class="end"><Status name={outcome('done', item.run.termination)} /> {item.run.termination?.code} <span dir="auto">{item.run.termination?.detail}</span></p>;
  const { turn, record } = item;
  const open = record !== undefined && !record.complete;
  const last = turn.calls.length === 0;
  return (
    <div class={`row${newest ? ' newest' : ''}${route.value.run === turn.run && route.value.step === turn.step ? ' selected' : ''}`}>
      <TurnView turn={turn} record={record} agent={record?.agent || conversation.agentOf(turn.run) || conversation.info.value?.agent_id || ''} onDecided={(suspension) => record && void conversation.decided(record, suspension)} />
      {!open && (
        <div class="row-actions">
          <button type="button" class="small" aria-label={`Show step ${turn.step}`} onClick={() => select({ run: turn.run, step: turn.step, call: '', tab: 'timeline' })}>Step {turn.step}</button>
          <Copy text={coded(textOf(turn), true)} label="Copy this turn" />
          {last && <button type="button" class="small" onClick={() => void conversation.again(turn.id).catch(setProblem)}><Icon name="again" /> Again</button>}
          {last && <button type="button" class="small" onClick={() => void conversation.fork(turn.id).then((id) => go({ thread: id }), setProblem)}><Icon name="fork" /> Fork</button>}
          <span class="meta">{turnMeta(turn)}</span>
        </div>
      )}
      {problem !== undefined && <Problem error={problem} />}
    </div>
  );
}

function Said({ message, conversation }: { message: Message; conversation: Conversation }) {
  const text = (message.content ?? []).map((b) => b.text ?? '').join('\n').trim();
  const files = (message.content ?? []).filter((b) => b.type === 'file');
  const [editing, setEditing] = useState<string | undefined>(undefined);
  const [problem, setProblem] = useState<unknown>(undefined);
  useEscape(editing !== undefined, () => setEditing(undefined));
  const replace = async () => {
    try {
      const content = [{ type: 'text' as const, text: editing!.trim() }, ...files];
      if (message.pending) await conversation.change(message.id, content);
      else await conversation.say(content, '', 'interrupt', message.id);
      setProblem(undefined);
      setEditing(undefined);
    } catch (e) {
      setProblem(e);
    }
  };
  if (editing !== undefined) {
    return (
      <form class="said editing" onSubmit={(e) => (e.preventDefault(), void replace())}>
        <textarea aria-label="Message" dir="auto" rows={3} value={editing} ref={focusOnce} onInput={(e) => setEditing(e.currentTarget.value)} />
        {problem !== undefined && <Problem error={problem} />}
        <div class="actions">
          <button type="submit" class="primary" disabled={!editing.trim()}>{message.pending ? 'Change it' : 'Send instead'}</button>
          <button type="button" onClick={() => setEditing(undefined)}>Back</button>
        </div>
        {!message.pending && <p class="meta">It replaces this message and all later ones.</p>}
      </form>
    );
  }
  if (message.repair) return <p class="meta">The answer goes back to the model: {text}</p>;
  const { pending } = message;
  const active = conversation.active.value;
  return (
    <div class="row">
      <article class={`said${pending ? ' pending' : ''}`} aria-label="You">
        {text && <p dir="auto"><Shown text={text} prose /></p>}
        {files.map((b, i) => <FileView key={i} block={b} saves />)}
      </article>
      <div class={`row-actions of-person${pending ? ' shown' : ''}`}>
        {pending && <Mark tone="queued" sign="clock" word={conversation.whenRead(message)} />}
        <button type="button" class="small" onClick={() => setEditing(text)}><Icon name="edit" /> Edit</button>
        {pending && active && message.run_id !== active.id && <button type="button" class="small" onClick={() => void conversation.sayNow(message).catch(setProblem)}><Icon name="next" /> Send it now</button>}
        {pending && <button type="button" class="small" onClick={() => void conversation.takeBack(message.id).catch(setProblem)}><Icon name="cross" /> Remove</button>}
        {!pending && <Copy text={text} label="Copy this message" />}
      </div>
      {problem !== undefined && <Problem error={problem} />}
    </div>
  );
}

// Ended says how the newest run ended, when that was not by itself.
function Ended({ conversation }: { conversation: Conversation }) {
  const [problem, setProblem] = useState<unknown>(undefined);
  const record = conversation.active.value;
  record?.version.value;
  const end = record ? (record.complete ? record.termination : undefined) : conversation.latest.value?.termination;
  const run = record?.id ?? conversation.latest.value?.run_id;
  if (record?.problem.value !== undefined) return <Problem error={record.problem.value} />;
  if (!end || !run || end.type === 'natural_end') return null;
  const goOn = <button type="button" class="primary" onClick={() => void conversation.goOn(run).catch(setProblem)}><Icon name="again" /> Run again</button>;
  const kept = record?.complete ? record.steps.filter((s) => s.said && !s.failed).length : conversation.latest.value?.steps ?? 0;
  return (
    <>
      {end.type === 'error' ? (
        <Failure code={end.code ?? ''} detail={record?.error?.text || end.detail || ''} kept={kept}>{goOn}</Failure>
      ) : (
        <p class="end"><Status name={outcome('done', end)} /> {end.code} <span dir="auto">{end.detail}</span></p>
      )}
      {problem !== undefined && <Problem error={problem} />}
    </>
  );
}
