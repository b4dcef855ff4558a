// Where a person writes: a message, or the answer to what an agent asks.
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import { AnswerField } from './answer';
import { asksYou, isQuestion, wordsOf } from './asked';
import type { Conversation, Mode } from './conversation';
import { outcomeOf } from './decisions';
import { draftOf, fresh, rename, write } from './draft';
import { useEscape } from './escape';
import { FileView, largest, read } from './file';
import { moment } from './format';
import { Shown, coded } from './hidden';
import { Icon } from './icons';
import { Problem } from './problem';
import { Told, tell } from './told';
import type { Block, ChildTicket, Ticket } from './types';

interface Properties {
  conversation: Conversation;
  agent: string;
  onSaid: () => void;
}

const wide = () => matchMedia('(min-width: 760px)').matches;

export function Composer({ conversation, agent, onSaid }: Properties) {
  const record = conversation.active.value;
  record?.version.value;
  const open = (record && !record.complete ? record.tickets : []).map((t) => t.ticket).filter((t) => t.kind !== 'child' && !t.keep && !outcomeOf(record!.id, t));
  const below: Ticket[] = record && !record.complete ? record.children.tickets : []; // a message cancels none of them
  const questions = [...open, ...below.filter((t) => !outcomeOf(record!.id, t))].filter(isQuestion);
  const waits = [...open, ...below].map((t) => t.suspension_id).join(' ');
  const [instead, setInstead] = useState(''); // what waited when the user wanted to say something else
  const [answers, setAnswers] = useState(''); // the tickets that the user chose to answer, although the field has a draft
  const started = !conversation.fresh || record !== undefined;
  const name = started ? conversation.id : fresh;
  useLayoutEffect(() => {
    if (started && conversation.fresh) rename(fresh, conversation.id);
  }, [started, conversation]);
  useLayoutEffect(() => {
    if (wide()) document.getElementById('composer')?.focus();
  }, [conversation]);
  useEscape(questions.length > 0 && instead === waits, () => setInstead(''));
  const begun = draftOf(name).text.value !== '' || draftOf(name).files.value.length > 0;
  const answering = questions.length > 0 && instead !== waits && (!begun || answers === waits);
  const asked = [...(record?.tickets.filter((t) => t.ticket.kind !== 'child').map((t) => t.ticket) ?? []), ...below].filter(isQuestion);
  return (
    <>
      <Told />
      {answering ? (
        <AnswerField
          key={questions[0].suspension_id} run={record!.id} ticket={questions[0]} agent={below.find((t) => t === questions[0]) ? (questions[0] as ChildTicket).agent_id ?? '' : record!.agent || agent} at={asked.indexOf(questions[0]) + 1} of={asked.length}
          onInstead={() => setInstead(waits)} onDecided={() => void conversation.decided(record!, questions[0].suspension_id)}
        />
      ) : (
        <MessageField
          key={name} name={name} conversation={conversation} agent={agent} onSaid={onSaid} open={open} sure={instead === waits}
          onAnswer={questions.length ? () => (setInstead(''), setAnswers(waits)) : undefined}
        />
      )}
    </>
  );
}

interface MessageProperties extends Properties {
  name: string; // of its draft
  open: Ticket[]; // what waits for an answer, which a message cancels
  sure: boolean; // the user knows that
  onAnswer?: () => void;
}

function MessageField({ conversation, agent, onSaid, name, open, sure, onAnswer }: MessageProperties) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [mode, setMode] = useState<Mode>('queue');
  const [problem, setProblem] = useState<unknown>(undefined);
  const [note, setNote] = useState('');
  const [over, setOver] = useState(false);
  const [asks, setAsks] = useState(false); // whether the message is to cancel what waits
  const text = draftOf(name).text.value;
  const files = draftOf(name).files;
  const busy = conversation.busy;
  const waits = busy && conversation.active.value?.status === 'waiting';
  useLayoutEffect(() => {
    if (wide() && document.activeElement === document.body) field.current?.focus();
  }, []);
  useEscape(asks && open.length > 0, () => (setAsks(false), field.current?.focus()));

  // One message goes after the other, in the order in which they were written.
  const before = useRef<Promise<void>>(Promise.resolve());
  const send = (certain: boolean) => {
    const said = draftOf(name).text.value.trim();
    const content: Block[] = [...(said ? [{ type: 'text' as const, text: said }] : []), ...files.value];
    if (!content.length) return;
    if (open.length && !certain) return setAsks(true);
    setAsks(false);
    write(name, '');
    files.value = [];
    setProblem(undefined);
    onSaid();
    field.current?.focus();
    if (open.length) tell('The calls that waited are cancelled.');
    before.current = before.current
      .then(() => conversation.say(content, agent, waits ? 'queue' : mode))
      .catch((e) => {
        const mine = draftOf(name);
        write(name, [said, mine.text.value].filter(Boolean).join('\n\n')); // it stays until it is accepted
        mine.files.value = [...content.filter((b) => b.type === 'file'), ...mine.files.value];
        setProblem(e);
      });
  };
  const take = async (given: FileList | null | undefined) => {
    setNote('');
    for (const f of Array.from(given ?? [])) {
      const block = await read(f);
      const whole = [...files.value, block].reduce((sum, b) => sum + (b?.data?.length ?? 0), 0);
      const before = draftOf(name).text.value;
      if (!block || whole > largest) setNote(`${coded(f.name)} is too large: a message may have ${largest.toLocaleString()} bytes of files, as the host counts them.`);
      else if (block.text) write(name, `${before}${before && '\n\n'}${block.text}`);
      else files.value = [...files.value, block];
    }
    field.current?.focus();
  };
  const empty = !text.trim() && !files.value.length;
  return (
    <form
      class={`composer${over ? ' over' : ''}`} onSubmit={(e) => (e.preventDefault(), send(sure))}
      onDragOver={(e) => (e.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)}
      onDrop={(e) => (e.preventDefault(), setOver(false), void take(e.dataTransfer?.files))}
    >
      {problem !== undefined && <Problem error={problem} />}
      {note && <p class="meta" role="status">{note}</p>}
      {open.length > 0 && (asks || sure || onAnswer) && <Instead open={open} asks={asks && !sure} onSend={() => send(true)} onKeep={() => (setAsks(false), field.current?.focus())} onAnswer={onAnswer} />}
      {open.length === 0 && onAnswer && <div class="note"><Icon name="ask" /><p class="grow">A child run asks you a question.</p><button type="button" onClick={onAnswer}>Answer it</button></div>}
      {files.value.length > 0 && (
        <ul class="files" aria-label="Files">
          {files.value.map((b, i) => (
            <li key={i}>
              <FileView block={b} />
              <button type="button" class="small" aria-label={`Remove ${coded(b.filename ?? 'file')}`} onClick={() => (files.value = files.value.filter((other) => other !== b))}><Icon name="cross" /></button>
            </li>
          ))}
        </ul>
      )}
      <div class="composer-box">
        <textarea
          ref={field} id="composer" rows={1} dir="auto" aria-label="Message" value={text}
          placeholder={open.some(asksYou) ? 'Answer above, or say something else…' : waits ? 'Send a message…' : busy ? 'Send another message…' : 'Send a message…'}
          onInput={(e) => write(name, e.currentTarget.value)}
          onKeyDown={(e) => e.key === 'Enter' && !e.shiftKey && !e.isComposing && (e.preventDefault(), send(sure))}
        />
        <label class="attach icon-button" title="Add files, or drop them here">
          <Icon name="clip" />
          <span class="hidden">Add files</span>
          <input type="file" class="hidden" multiple onChange={(e) => (void take(e.currentTarget.files), (e.currentTarget.value = ''))} />
        </label>
        {busy && !waits && (
          <select class="mode" aria-label="While a run is open" value={mode} onChange={(e) => setMode(e.currentTarget.value as Mode)}>
            <option value="queue">after this run</option>
            <option value="steer">now, into this run</option>
            <option value="interrupt">instead of this run</option>
          </select>
        )}
        {busy && !waits && empty ? (
          <button type="button" class="icon-button" aria-label="Stop the run" onClick={() => void conversation.stop().catch(setProblem)}><Icon name="stop" /></button>
        ) : (
          <button type="submit" class="icon-button primary" aria-label="Send" disabled={empty}><Icon name="send" /></button>
        )}
      </div>
    </form>
  );
}

interface InsteadProperties {
  open: Ticket[];
  asks: boolean;
  onSend: () => void;
  onKeep: () => void;
  onAnswer?: () => void;
}

// Instead says what a message would do to what waits.
function Instead({ open, asks, onSend, onKeep, onAnswer }: InsteadProperties) {
  const timers = open.filter((t) => t.kind === 'timer');
  const what = open.length > 1 ? `the ${open.length} calls that wait${timers.length ? '' : ' for you'}` : timers.length ? `the call of ${open[0].tool_name} that waits until ${moment(open[0].wakes_at ?? 0)}` : isQuestion(open[0]) ? `the question “${wordsOf(open[0])}”` : `the call of ${open[0].tool_name} that waits for you`;
  return (
    <div class="note" role={asks ? 'alert' : undefined}>
      <Icon name="warn" />
      <p class="grow">A message now cancels <Shown text={what} prose />.</p>
      {asks && <button type="button" onClick={onSend}>{timers.length === open.length ? 'Send it' : 'Say something else instead'}</button>}
      {asks && <button type="button" onClick={onKeep}>Keep waiting</button>}
      {onAnswer && <button type="button" onClick={onAnswer}>Answer it</button>}
    </div>
  );
}
