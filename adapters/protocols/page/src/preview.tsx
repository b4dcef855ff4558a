// What waits, beside the list: what led to it, and its ticket.
import { useEffect, useState } from 'preact/hooks';
import { offered } from './api';
import { short } from './format';
import { Shown } from './hidden';
import { Icon } from './icons';
import { address } from './route';
import { TicketCard, ofTicket } from './ticket';
import type { Approval, StoredStep } from './types';

interface Properties {
  item: Approval;
  at: number;
  of: number;
  onBack: () => void;
  after: (suspension: string) => void;
}

export function Preview({ item, at, of, onBack, after }: Properties) {
  const called = useCalled(item);
  return (
    <section class="look" aria-label="Selected call">
      <div class="look-top">
        <button type="button" class="look-back" onClick={onBack}>Back to the list</button>
        <a class="button" href={address({ thread: item.thread_id, run: item.run_id })}><Icon name="chat" /> Open thread</a>
        <span class="grow" />
        <span class="meta">{at} of {of}</span>
      </div>
      {(item.asked || item.parent || called.length > 0) && (
        <div class="led">
          <h2 class="label">Before this call</h2>
          {item.asked && <p class="said" dir="auto"><Shown text={item.asked} prose /></p>}
          <p class="meta"><Shown text={item.agent_id} /> {called.length ? <>called <Shown text={called.join(', ')} />, then this:</> : 'then wants this:'}</p>
          {item.parent && <p class="meta">Started by <a href={`#/runs/${item.parent.run_id}`}>run {short(item.parent.run_id)}</a>, which waits for it.</p>}
        </div>
      )}
      <TicketCard waiting={ofTicket(item.run_id, item, item.agent_id)} onDecided={() => {}} after={after} />
    </section>
  );
}

const most = 5; // calls that are named

// useCalled are the tools that the run has called before, the newest last.
function useCalled(item: Approval): string[] {
  const [called, setCalled] = useState<string[]>([]);
  useEffect(() => {
    let late = false;
    offered<{ steps: StoredStep[] }>(`v1/runs/${item.run_id}/steps`).then((page) => {
      const names = (page?.steps ?? []).flatMap((s) => s.calls ?? []).filter((c) => c.id !== item.tool_call_id && c.ended_at).map((c) => c.name);
      if (!late) setCalled(names.slice(-most));
    }, () => {});
    return () => void (late = true);
  }, [item.run_id, item.tool_call_id]);
  return called;
}
