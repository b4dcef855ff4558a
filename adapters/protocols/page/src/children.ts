// The runs that a run has started, directly or through others, as its stream tells of them.
import type { ChildProgress, ChildTicket, RunEvent } from './types';

// ShownChild is one of them. Its call is the one of the run of the stream that it works for.
export interface ShownChild {
  call: string;
  progress: ChildProgress;
  tickets: ChildTicket[]; // what it asks
  before: Set<string>; // the suspensions of those that this response has not repeated
  shown: number; // how often this response told of it
}

export class Children {
  readonly runs = new Map<string, ShownChild>();

  // add takes an event about one of them.
  add(e: RunEvent): void {
    const about = e.child!;
    let c = this.runs.get(about.run_id);
    if (!c) {
      c = { call: this.runs.get(about.parent_run_id)?.call ?? about.parent_call_id ?? '', progress: { ...about, status: 'created', steps: 0 }, tickets: [], before: new Set(), shown: 0 };
      this.runs.set(about.run_id, c);
    }
    switch (e.event_type) {
      case 'activity_snapshot':
        if (e.activity_type !== 'agent_run') return;
        c.call = e.id || c.call;
        c.progress = e.content as unknown as ChildProgress;
        // What it asks comes with the first that a response tells of it.
        if (++c.shown > 1) drop(c);
        if (c.progress.status === 'done') c.tickets = [];
        return;
      case 'tool_call_suspended':
        if (!e.ticket) return;
        c.before.delete(e.ticket.suspension_id);
        c.tickets = [...c.tickets.filter((t) => t.suspension_id !== e.ticket!.suspension_id), { ...e.ticket, ...about }];
        return;
      case 'tool_call_resumed':
      case 'tool_call_done':
        c.tickets = c.tickets.filter((t) => t.tool_call_id !== e.id);
    }
  }

  // joined says that another response begins: it repeats what still waits, and does not say
  // what was decided between the two.
  joined(): void {
    for (const c of this.runs.values()) {
      c.before = new Set(c.tickets.map((t) => t.suspension_id));
      c.shown = 0;
    }
  }

  // ended says that the response is over, or that the run is.
  ended(done: boolean): void {
    for (const c of this.runs.values()) {
      drop(c);
      if (done) c.tickets = [];
    }
  }

  // result says that a call of the run has its result: nothing waits for it any more.
  result(call: string): void {
    for (const c of this.runs.values()) if (c.call === call) c.tickets = [];
  }

  // tickets are what they ask, in the order in which the stream told of them.
  get tickets(): ChildTicket[] {
    return [...this.runs.values()].flatMap((c) => c.tickets);
  }

  // of are those that a run has started, of a call of the stream's run.
  of(run: string, call: string): ShownChild[] {
    return [...this.runs.values()].filter((c) => c.progress.parent_run_id === run && c.call === call);
  }

  // asking says that a call waits for an answer to one of them.
  asking(call: string): boolean {
    return [...this.runs.values()].some((c) => c.call === call && c.tickets.length > 0);
  }

  // waits says that a suspension is open, or that one of them waits although it asks nothing:
  // its answer was given, and no worker has continued with it yet.
  waits(suspension: string): boolean {
    const open = [...this.runs.values()].filter((c) => c.progress.status !== 'done');
    return open.some((c) => c.tickets.some((t) => t.suspension_id === suspension) || (c.progress.status === 'waiting' && !c.tickets.length && !open.some((o) => o.progress.parent_run_id === c.progress.run_id)));
  }
}

// drop forgets what a response has not repeated.
function drop(c: ShownChild): void {
  if (c.before.size) c.tickets = c.tickets.filter((t) => !c.before.has(t.suspension_id));
  c.before.clear();
}
