// What a run's events come to. One record of a run feeds every view of it.
import { signal } from '@preact/signals';
import { Children } from './children';
import { apply, type Operation } from './patch';
import type { Block, JSONValue, Run, RunEvent, StoredStep, Termination, Ticket, Usage } from './types';

// A call as it is shown, whether it came from events or from stored messages. Its status
// is the host's own word: writing, running and waiting until there is a result, then the
// status of that.
export interface ShownCall {
  id: string;
  name: string;
  text: string; // of the arguments, as they come
  arguments?: JSONValue;
  status: string;
  result?: JSONValue;
  message?: string;
  content?: Block[]; // of the result: texts and files after it
  isError?: boolean;
  output: string; // what it puts out while it runs
  activity?: JSONValue;
  progress?: Progress; // how far it is, while it says so
  ticket?: Ticket;
  answered?: string; // what was decided
  woken?: boolean; // by the clock
  ready: number; // when it could begin, unix milliseconds; 0: not known
  asked: number; // when it began to wait for an answer
  resumed: number;
  ended: number;
  took: number;
}

// What was said in a step before it began again. The times are unix milliseconds; 0: not
// known.
export interface Void {
  blocks: Block[];
  calls: ShownCall[];
  from: number;
  lost: number; // when the last of it came
  to: number; // when the step began again
  fence: string; // of the claim that said it
  moved: boolean; // another claim goes on: the first one's host has ended
}

// How far a tool is, by its own account: the content of an activity of the type tool_progress.
export interface Progress {
  progress?: number; // from 0 to 1; absent: nobody knows the total
  loaded: number;
  total?: number;
  message?: string;
}

// What a model said in one step, as it is shown.
export interface Turn {
  id: string;
  run: string;
  step: number;
  at?: number; // when it was stored, of a turn that comes from messages
  blocks: Block[];
  calls: ShownCall[];
  usage?: Usage;
  model?: string;
  stop?: string;
  voids: Void[]; // earlier attempts at this turn, of which nothing counts
  // Failed calls. at: when it failed. wait: the pause after it, in milliseconds. to: the model
  // that is called next. limit: the window that a refusal named, in tokens.
  retries: { at: number; failed: number; wait: number; reason: string; to?: string; limit?: number }[];
  failed?: string; // the model's failure, when there is no turn
}

// A step that is running or has ended: a turn with its times in Unix milliseconds. 0: unknown.
export interface Step extends Turn {
  began: number;
  first: number; // when the first piece came; 0 if the page did not receive it live
  said: number; // when the turn was complete
  took: number; // the time of the model's calls, in milliseconds
  ended: number;
  live: boolean; // the page received the pieces while the model generated them
  seen: number; // the time of the newest event
  fence: string; // of the claim under which the turn is generated
}

// The state behind a revision.
export interface Revision {
  revision: number;
  step: number;
  at: number;
  value: JSONValue;
  patch?: Operation[];
}

export type Connection = 'none' | 'open' | 'retrying' | 'lost';

export const newCall = (id: string, name: string): ShownCall => ({
  id, name, text: '', status: 'writing', output: '', ready: 0, asked: 0, resumed: 0, ended: 0, took: 0,
});

// An id of an event is RUN.STEP.FENCE.BLOCK-END-KIND.
const fenceOf = /\.\d+\.(\d+)\.\d+-\d+-\w+$/;

const much = 500; // events

export class RunRecord {
  thread = '';
  agent = '';
  status = 'created';
  began = 0;
  ended = 0;
  took = 0;
  usage: Usage = {};
  termination?: Termination;
  error?: { text: string; code: string };
  steps: Step[] = [];
  revisions: Revision[] = [];
  events: { id: string; event: RunEvent }[] = [];
  last = ''; // id of the last event that has one
  readonly children = new Children();

  // What the host has stored of the run and of its steps, for the times and sums that no
  // event tells. Of a run that is done they are the truth.
  readonly run = signal<Run | undefined>(undefined);
  readonly stored = signal<StoredStep[]>([]);

  // version changes at most once a frame: what reads it is drawn anew then.
  readonly version = signal(0);
  readonly connection = signal<Connection>('none');
  readonly problem = signal<unknown>(undefined);
  private drawn = 0;
  private readonly byNumber = new Map<number, Step>();

  constructor(readonly id: string) {}

  // complete says that everything the run will ever say is here.
  get complete(): boolean {
    return this.status === 'done' && this.termination !== undefined;
  }

  get tickets(): { call: ShownCall; ticket: Ticket }[] {
    return this.steps.flatMap((s) => s.calls.filter((c) => c.status === 'waiting' && c.ticket).map((call) => ({ call, ticket: call.ticket! })));
  }

  // waits says that the run, or one that it has started, has not read an answer.
  waits(suspension: string): boolean {
    return this.tickets.some((t) => t.ticket.suspension_id === suspension) || (!this.complete && this.children.waits(suspension));
  }

  // touch draws the record again: at the next frame, and later while much is replayed.
  touch(replayed = false): void {
    if (this.drawn) return;
    const draw = () => {
      this.drawn = 0;
      this.version.value++;
    };
    const late = replayed && this.events.length > much;
    this.drawn = document.hidden || late ? window.setTimeout(draw, late ? 250 : 100) : requestAnimationFrame(draw);
  }

  // add takes an event of the stream. live says that it is being said, not replayed.
  add(id: string, e: RunEvent, live: boolean): void {
    if (id) this.last = id;
    this.events.push({ id, event: e });
    const at = e.time ? Date.parse(e.time) : 0;
    if (e.child) this.children.add(e);
    else if (!this.ofRun(e, at) && e.step) this.ofStep(this.step(e), id, e, at, live);
    this.touch(!live && e.event_type !== 'run_finish');
  }

  // take keeps what the host has stored of the run. It may come before any event, and says
  // nothing of which of them are here.
  take(run: Run): void {
    this.run.value = run;
    this.thread ||= run.thread_id;
    this.agent ||= run.agent_id;
    this.began ||= run.started_at ?? 0;
    this.touch();
  }

  // stepOf returns a step by its number, if an event has told of it.
  stepOf(number: number): Step | undefined {
    return this.byNumber.get(number);
  }

  private step(e: RunEvent): Step {
    let s = this.byNumber.get(e.step!);
    if (!s) {
      s = {
        id: e.message_id ?? `${this.id}.${e.step}`, run: this.id, step: e.step!, blocks: [], calls: [], voids: [], retries: [],
        began: 0, first: 0, said: 0, took: 0, ended: 0, live: false, seen: 0, fence: '',
      };
      this.steps.push(s);
      this.byNumber.set(s.step, s);
    }
    return s;
  }

  private ofRun(e: RunEvent, at: number): boolean {
    switch (e.event_type) {
      case 'run_start':
        this.thread = e.thread_id ?? this.thread;
        this.agent = e.agent_id ?? this.agent;
        this.status = 'running';
        this.began ||= at;
        return true;
      case 'error':
        this.error = { text: e.error ?? '', code: e.code ?? '' };
        return true;
      case 'run_finish':
        this.status = e.status ?? 'done';
        this.children.ended(this.status === 'done');
        this.usage = { ...(e.usage ?? this.usage) };
        if (this.status !== 'done') return true;
        this.termination = e.termination;
        this.ended = at;
        this.took = e.duration_ms ?? 0;
        return true;
      case 'state_snapshot':
        this.revise(e, at, e.snapshot ?? null);
        return true;
      case 'state_delta':
        this.revise(e, at, apply(this.revisions.at(-1)?.value ?? { thread: {}, run: {} }, (e.patch ?? []) as unknown as Operation[]), e.patch as unknown as Operation[]);
        return true;
    }
    return false;
  }

  private revise(e: RunEvent, at: number, value: JSONValue, patch?: Operation[]): void {
    const last = this.revisions.at(-1);
    const revision = { revision: e.revision ?? 0, step: e.step ?? 0, at, value, patch };
    if (last && last.revision === revision.revision) this.revisions[this.revisions.length - 1] = { ...last, value };
    else this.revisions.push(revision);
  }

  private ofStep(s: Step, id: string, e: RunEvent, at: number, live: boolean): void {
    const seen = s.seen;
    s.seen = at || s.seen;
    const fence = fenceOf.exec(id)?.[1];
    if (fence && fence !== s.fence) {
      for (const v of s.voids) v.moved ||= v.fence !== '' && v.fence !== fence;
      s.fence = fence;
    }
    switch (e.event_type) {
      case 'step_start':
        this.status = 'running';
        s.began ||= at;
        s.id = e.message_id ?? s.id;
        return;
      case 'step_restarted':
        if (s.blocks.length || s.calls.length) s.voids.push({ blocks: s.blocks, calls: s.calls, from: s.voids.at(-1)?.to ?? s.began, lost: seen, to: at, fence: s.fence, moved: false });
        s.first = 0;
        s.blocks = [];
        s.calls = [];
        return;
      case 'text_delta':
      case 'reasoning_delta':
        return this.say(s, id, e, at, live);
      case 'text_annotations':
        return cite(s.blocks, e);
      case 'inference_retry':
        s.retries.push({ at, failed: e.failed ?? 0, wait: e.wait ?? 0, reason: e.reason ?? '', limit: e.limit });
        return;
      case 'model_switch':
        s.retries.push({ at, failed: e.failed ?? 0, wait: 0, reason: e.reason ?? '', to: e.model });
        return;
      case 'model_circuit':
        if (e.status === 'open') s.retries.push({ at, failed: s.retries.at(-1)?.failed ?? 0, wait: e.wait ?? 0, reason: 'circuit_open' });
        return;
      case 'inference_complete':
        s.said = at;
        s.took = e.duration_ms ?? 0;
        s.usage = e.usage;
        s.model = e.model;
        s.stop = e.stop_reason;
        for (const k of ['input', 'output', 'cache_read', 'cache_write', 'reasoning'] as const) this.usage[k] = (this.usage[k] ?? 0) + (e.usage?.[k] ?? 0);
        for (const c of s.calls) if (c.status === 'writing') c.status = 'running';
        return;
      case 'inference_failed':
        s.failed = e.reason ?? 'failed';
        s.said = at;
        return;
      case 'step_end':
        s.ended = at;
        return;
    }
    if (e.id) this.ofCall(s, e, at, live);
  }

  // say adds a piece to its block, which the id of the event names.
  private say(s: Step, id: string, e: RunEvent, at: number, live: boolean): void {
    const type = e.event_type === 'text_delta' ? 'text' : 'reasoning';
    const index = /\.(\d+)-\d+-\w+$/.exec(id)?.[1] ?? '';
    if (live) {
      s.first ||= at;
      s.live = true;
    }
    const last = s.blocks.at(-1) as (Block & { index?: string }) | undefined;
    if (last && last.type === type && last.index === index) last.text = (last.text ?? '') + (e.delta ?? '');
    else s.blocks.push({ type, text: e.delta ?? '', index } as Block);
  }

  private ofCall(s: Step, e: RunEvent, at: number, live: boolean): void {
    let c = s.calls.find((c) => c.id === e.id);
    if (!c) {
      c = newCall(e.id!, e.name ?? '');
      s.calls.push(c);
    }
    if (live && e.event_type === 'tool_call_start') s.first ||= at;
    switch (e.event_type) {
      case 'tool_call_delta':
        c.text += e.delta ?? '';
        break;
      case 'tool_call_ready':
        c.arguments = e.arguments;
        c.name = e.name ?? c.name;
        c.ready = at;
        c.status = 'running';
        break;
      case 'tool_call_cancel':
        s.calls = s.calls.filter((other) => other !== c);
        break;
      case 'tool_call_stream_delta':
        c.output += e.delta ?? '';
        break;
      case 'activity_snapshot':
        if (e.activity_type === 'tool_progress') c.progress = e.content as unknown as Progress;
        else c.activity = e.content;
        break;
      case 'activity_delta':
        c.activity = apply(c.activity ?? null, (e.patch ?? []) as unknown as Operation[]);
        break;
      case 'tool_call_suspended':
        c.ticket = e.ticket;
        c.asked ||= e.ticket?.created_at || at; // a replay says it at its own time
        c.status = 'waiting';
        c.answered = e.ticket?.decision?.action;
        c.woken = wokenBy(e.ticket, e.ticket?.decision?.decision_id);
        break;
      case 'tool_call_resumed':
        c.resumed = at;
        c.answered = e.action;
        c.woken = e.decided_by?.kind === 'time';
        c.status = 'running';
        this.status = 'running';
        break;
      case 'tool_call_done':
        c.status = e.status ?? (e.is_error ? 'error' : 'ok');
        this.children.result(c.id);
        c.result = e.result;
        c.content = e.blocks;
        c.isError = e.is_error;
        c.ended = at;
        c.took = e.duration_ms ?? 0;
        c.woken ||= e.decided_by?.kind === 'time'; // the only decider that a replay tells
        c.resumed ||= c.asked && at; // a replay does not tell when it went on
    }
  }
}

// wokenBy reports whether a decision is the clock's: see Decision.Woken of package core.
const wokenBy = (t: Ticket | undefined, decision: string | undefined) => !!t?.wakes_at && !!decision?.startsWith('wake-');

// cite gives a text its citations; index is its place in the message, which counts blocks that
// are not shown.
function cite(blocks: Block[], e: RunEvent): void {
  const at = blocks.findIndex((b) => (b as Block & { index?: string }).index === `${e.block ?? 0}`);
  if (at >= 0) blocks[at] = { ...blocks[at], annotations: e.annotations };
}
