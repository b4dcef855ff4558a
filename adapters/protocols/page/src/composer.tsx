// Where a person writes.
import { signal } from '@preact/signals';
import { useLayoutEffect, useRef, useState } from 'preact/hooks';
import type { Conversation, Mode } from './conversation';
import { FileView, largest, read } from './file';
import { Icon } from './icons';
import { Problem } from './problem';
import type { Block } from './types';

// draft is what is written and not accepted yet, and files what goes with it; they
// survive a look at another view.
export const draft = signal('');
const files = signal<Block[]>([]);

interface Properties {
  conversation: Conversation;
  agent: string;
  onSaid: () => void;
}

export function Composer({ conversation, agent, onSaid }: Properties) {
  const field = useRef<HTMLTextAreaElement>(null);
  const [mode, setMode] = useState<Mode>('queue');
  const [problem, setProblem] = useState<unknown>(undefined);
  const [note, setNote] = useState('');
  const [over, setOver] = useState(false);
  const busy = conversation.busy;
  const waits = busy && conversation.active.value?.status === 'waiting';
  useLayoutEffect(() => {
    if (matchMedia('(min-width: 760px)').matches) field.current?.focus();
  }, [conversation]);

  // One message goes after the other, in the order in which they were written.
  const before = useRef<Promise<void>>(Promise.resolve());
  const send = () => {
    const text = draft.value.trim();
    const content: Block[] = [...(text ? [{ type: 'text' as const, text }] : []), ...files.value];
    if (!content.length) return;
    draft.value = '';
    files.value = [];
    setProblem(undefined);
    onSaid();
    field.current?.focus();
    before.current = before.current
      .then(() => conversation.say(content, agent, waits ? 'queue' : mode))
      .catch((e) => {
        draft.value = [text, draft.value].filter(Boolean).join('\n\n'); // it stays until it is accepted
        files.value = [...content.filter((b) => b.type === 'file'), ...files.value];
        setProblem(e);
      });
  };
  const take = async (given: FileList | null | undefined) => {
    setNote('');
    for (const f of Array.from(given ?? [])) {
      const block = await read(f);
      const whole = [...files.value, block].reduce((sum, b) => sum + (b?.data?.length ?? 0), 0);
      if (!block || whole > largest) setNote(`${f.name} is too large: a message may have ${largest.toLocaleString()} bytes of files, as the host counts them.`);
      else if (block.text) draft.value = `${draft.value}${draft.value && '\n\n'}${block.text}`;
      else files.value = [...files.value, block];
    }
    field.current?.focus();
  };
  return (
    <form
      class={`composer${over ? ' over' : ''}`} onSubmit={(e) => (e.preventDefault(), send())}
      onDragOver={(e) => (e.preventDefault(), setOver(true))} onDragLeave={() => setOver(false)}
      onDrop={(e) => (e.preventDefault(), setOver(false), void take(e.dataTransfer?.files))}
    >
      {problem !== undefined && <Problem error={problem} />}
      {note && <p class="meta" role="status">{note}</p>}
      {files.value.length > 0 && (
        <ul class="files" aria-label="Files">
          {files.value.map((b, i) => (
            <li key={i}>
              <FileView block={b} />
              <button type="button" class="small" aria-label={`Remove ${b.filename}`} onClick={() => (files.value = files.value.filter((other) => other !== b))}><Icon name="cross" /></button>
            </li>
          ))}
        </ul>
      )}
      <div class="composer-box">
        <textarea
          ref={field} id="composer" rows={1} aria-label="Message" placeholder={waits ? 'Send a message instead of deciding…' : busy ? 'Send another message…' : 'Send a message…'} value={draft.value}
          onInput={(e) => (draft.value = e.currentTarget.value)}
          onKeyDown={(e) => e.key === 'Enter' && !e.shiftKey && !e.isComposing && (e.preventDefault(), send())}
        />
        <label class="attach icon-button" title="Add files, or drop them here">
          <Icon name="clip" />
          <span class="hidden">Add files</span>
          <input type="file" class="hidden" multiple onChange={(e) => (void take(e.currentTarget.files), (e.currentTarget.value = ''))} />
        </label>
        {busy && !waits && (
          <select class="mode" aria-label="While a run is open" value={mode} onChange={(e) => setMode(e.currentTarget.value as Mode)}>
            <option value="queue">after this run</option>
            <option value="steer">into this run</option>
            <option value="interrupt">instead of this run</option>
          </select>
        )}
        {busy && !waits && !draft.value.trim() && !files.value.length ? (
          <button type="button" class="icon-button" aria-label="Stop the run" onClick={() => void conversation.stop().catch(setProblem)}><Icon name="stop" /></button>
        ) : (
          <button type="submit" class="icon-button primary" aria-label="Send" disabled={!draft.value.trim() && !files.value.length}><Icon name="send" /></button>
        )}
      </div>
    </form>
  );
}
