// The conversation of one thread.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { Composer, draft } from './composer';
import type { Conversation, Item } from './conversation';
import { FileView } from './file';
import { focusOnce } from './focus';
import { Shown } from './hidden';
import { Icon, Status, outcome } from './icons';
import { Copy } from './json';
import { agents } from './lists';
import { Failure, Problem } from './problem';
import { go, route, select } from './route';
import { TurnView, textOf, turnMeta } from './turn';
import type { Message } from './types';

export function Chat({ conversation, agent }: { conversation: Conversation; agent: string }) {
  const log = useRef<HTMLDivElement>(null);
  const bottom = useRef(true); // whether the reader stands at the very end
  const [below, setBelow] = useState(false);
  const items = conversation.items.value;
  const jump = () => {
    bottom.current = true;
    setBelow(false);
    log.current?.scrollTo({ top: log.current.scrollHeight });
  };
  useLayoutEffect(() => {
    if (bottom.current) log.current?.scrollTo({ top: log.current.scrollHeight });
    else setBelow(true);
  }, [items]);
  const scrolled = () => {
    const e = log.current!;
    bottom.current = e.scrollHeight - e.scrollTop - e.clientHeight < 8;
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
  return (
    <div class="chat">
      <div class="log" ref={log} onScroll={scrolled} tabIndex={0} role="log" aria-label="Conversation" aria-live="off">
        <div class="column">
          {conversation.older.value && <button type="button" class="small" onClick={() => void older()}>Older messages</button>}
          {conversation.problem.value !== undefined && <Problem error={conversation.problem.value} />}
          {conversation.loaded.value && !items.length && conversation.problem.value === undefined && <Empty agent={agent} fresh={conversation.fresh} />}
          {items.map((item, i) => <Row key={keyOf(item)} item={item} newest={i === items.length - 1 || items[i + 1].kind === 'end'} conversation={conversation} />)}
          <Ended conversation={conversation} />
        </div>
      </div>
      {below && <button type="button" class="below" onClick={jump}><Icon name="down" /> New below</button>}
      <Composer
        conversation={conversation} agent={agent}
        onSaid={() => {
          jump();
          if (route.value.run) select({ run: '', step: 0, call: '' }); // what comes is what is looked at
        }}
      />
    </div>
  );
}

const keyOf = (i: Item) => (i.kind === 'said' ? i.message.id : i.kind === 'turn' ? `${i.turn.run}.${i.turn.step}` : `end ${i.record.id}`);

function Row({ item, newest, conversation }: { item: Item; newest: boolean; conversation: Conversation }) {
  const [problem, setProblem] = useState<unknown>(undefined);
  if (item.kind === 'said') return <Said message={item.message} conversation={conversation} />;
  if (item.kind === 'end') return null;
  const { turn, record } = item;
  const open = record !== undefined && !record.complete;
  const last = turn.calls.length === 0;
  return (
    <div class={`row${newest ? ' newest' : ''}${route.value.run === turn.run && route.value.step === turn.step ? ' selected' : ''}`}>
      <TurnView turn={turn} record={record} onDecided={(suspension) => record && void conversation.decided(record, suspension)} />
      {!open && (
        <div class="row-actions">
          <button type="button" class="small" aria-label={`Show step ${turn.step}`} onClick={() => select({ run: turn.run, step: turn.step, call: '', tab: 'timeline' })}>Step {turn.step}</button>
          <Copy text={textOf(turn)} label="Copy this turn" />
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
        <textarea aria-label="Message" rows={3} value={editing} ref={focusOnce} onInput={(e) => setEditing(e.currentTarget.value)} />
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
  return (
    <div class="row">
      <article class={`said${message.pending ? ' pending' : ''}`} aria-label="You">
        {text && <p><Shown text={text} prose /></p>}
        {files.map((b, i) => <FileView key={i} block={b} />)}
        {message.pending && <p class="meta">Not read yet</p>}
      </article>
      <div class="row-actions of-person">
        <button type="button" class="small" onClick={() => setEditing(text)}><Icon name="edit" /> Edit</button>
        {message.pending && <button type="button" class="small" onClick={() => void conversation.takeBack(message.id).catch(setProblem)}>Withdraw</button>}
        <Copy text={text} label="Copy this message" />
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
  const goOn = <button type="button" class="primary" onClick={() => void conversation.goOn(run).catch(setProblem)}>Continue from the last step</button>;
  return (
    <>
      {end.type === 'error' ? (
        <Failure code={end.code ?? ''} detail={record?.error?.text || end.detail || ''}>{goOn}</Failure>
      ) : (
        <p class="end"><Status name={outcome('done', end)} /> {end.code} {end.detail}</p>
      )}
      {problem !== undefined && <Problem error={problem} />}
    </>
  );
}

const inputs = [
  ['Tell me what you can do', 'a plain answer'],
  ['echo: hello', 'calls a tool'],
  ['approve: ship it', 'calls a tool that waits for you'],
];

function Empty({ agent, fresh }: { agent: string; fresh: boolean }) {
  if (!fresh) return <p class="empty">This thread has no messages yet.</p>;
  const spec = agents.value?.find((a) => (agent ? a.id === agent : a.default));
  return (
    <div class="empty">
      <h2>{spec?.id ?? 'New thread'}</h2>
      <p>{spec?.description ?? 'Send a message to start a thread.'}</p>
      {(!spec || spec.id === 'demo') && (
        <ul class="starters">
          {inputs.map(([text, about]) => (
            <li key={text}>
              <button
                type="button"
                onClick={() => {
                  draft.value = text;
                  document.querySelector<HTMLFormElement>('.composer')?.requestSubmit();
                }}
              >
                <code>{text}</code> <span class="meta">{about}</span>
              </button>
            </li>
          ))}
        </ul>
      )}
    </div>
  );
}
