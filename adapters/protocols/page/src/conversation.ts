// The thread that is shown: its messages as stored, what was sent and is not stored yet,
// and the run that is open.
import { computed, signal } from '@preact/signals';
import { Refused, Unreachable, call, get, newID, query, reachedAgain, segment } from './api';
import { answered, begin, follow, leave, recordOf } from './follow';
import { newCall, type RunRecord, type ShownCall, type Step, type Turn } from './record';
import type { Block, ChildTicket, Message, Run } from './types';

export interface ThreadInfo {
  thread_id: string;
  title?: string;
  agent_id?: string;
  queued: number;
  delayed?: number;
  messages: number;
  active_run: { run_id: string; status: string } | null;
}

interface MessagePage {
  messages: Message[];
  next_cursor: string | null;
}

export type Mode = 'queue' | 'steer' | 'interrupt';

// An ended run is an earlier one that did not end by itself. end marks the place of the open run.
export type Item = { kind: 'said'; message: Message } | { kind: 'turn'; turn: Turn; record?: RunRecord } | { kind: 'ended'; run: Run } | { kind: 'end'; record: RunRecord };

const pageSize = 50;

export class Conversation {
  readonly messages = signal<Message[]>([]);
  readonly sent = signal<Message[]>([]); // accepted, or on their way, and not among the messages yet
  readonly older = signal<string | null>(null);
  readonly info = signal<ThreadInfo | undefined>(undefined);
  readonly active = signal<RunRecord | undefined>(undefined);
  readonly latest = signal<Run | undefined>(undefined);
  readonly known = signal<Map<string, Run>>(new Map()); // of the thread, as far as they were read
  readonly problem = signal<unknown>(undefined);
  readonly loaded = signal(false);
  private closed = false;
  private watched = '';
  private moreRuns: string | null = null;
  private turns = new WeakMap<Message, { results: (Message | undefined)[]; item: Item }>(); // that were made of messages
  private reads = { asked: 0, taken: 0 }; // of the messages
  private runs = { asked: 0, taken: 0 }; // that the user has started
  private settled = ''; // the run that was complete when the messages were read
  private instead = new Map<string, string>(); // what a person says otherwise: the new message to the one before it
  private readonly away = signal<{ run: string; from: string } | undefined>(undefined); // what a run has just taken back, until a list says so

  // An empty id is a thread that begins with its first message.
  constructor(readonly id: string, readonly fresh: boolean) {
    if (fresh) this.loaded.value = true;
    else void this.load();
  }

  close(): void {
    this.closed = true;
    if (this.active.value) leave(this.active.value);
  }

  // busy says that a run is open, so that new input has to wait, or to take its place.
  get busy(): boolean {
    const r = this.active.value;
    return !!r && r.version.value >= 0 && !r.complete;
  }

  private path(rest: string): string {
    return `v1/threads/${segment(this.id)}${rest}`;
  }

  async load(): Promise<void> {
    try {
      await this.sync(); // first: what ends meanwhile is then among the messages
      await this.refresh();
      await this.readLatest();
      this.problem.value = undefined;
    } catch (e) {
      if (e instanceof Unreachable) {
        await reachedAgain(); // the shell says that the host is gone
        return this.closed ? undefined : this.load();
      }
      this.problem.value = e;
    }
    this.loaded.value = true;
  }

  // refresh reads the newest messages again and keeps older ones that still hang together
  // with them. An answer that a later one has overtaken is dropped.
  async refresh(): Promise<void> {
    const read = ++this.reads.asked;
    const complete = this.active.value?.complete ? this.active.value.id : '';
    const page = await get<MessagePage>(this.path(`/messages${query({ limit: pageSize, order: 'desc' })}`));
    if (read < this.reads.taken) return;
    this.reads.taken = read;
    this.settled = complete;
    const newest = page.messages.reverse();
    const had = this.messages.value;
    // What waits to be read stands behind what it takes the place of: it joins nothing.
    const joint = page.next_cursor === null ? 0 : had.findIndex((m) => m.id === newest[0].id && !m.pending);
    if (joint > 0) this.messages.value = [...had.slice(0, joint), ...newest];
    else {
      this.messages.value = newest;
      this.older.value = page.next_cursor;
    }
    const stored = new Set(newest.map((m) => m.id));
    this.sent.value = this.sent.value.filter((m) => !stored.has(m.id));
  }

  async loadOlder(): Promise<void> {
    const cursor = this.older.value;
    if (!cursor) return;
    const page = await get<MessagePage>(this.path(`/messages${query({ limit: pageSize, order: 'desc', cursor })}`));
    if (this.older.value !== cursor) return;
    this.messages.value = [...page.messages.reverse(), ...this.messages.value];
    this.older.value = page.next_cursor;
    if (this.moreRuns) void this.quietly(() => this.readRuns(this.moreRuns!));
  }

  // readRuns reads a page of the thread's runs: who made them, and how they ended.
  private async readRuns(cursor = ''): Promise<void> {
    const page = await get<{ runs: Run[]; next_cursor: string | null }>(this.path(`/runs${query({ limit: pageSize, cursor })}`));
    this.known.value = new Map([...this.known.value, ...page.runs.map((r) => [r.run_id, r] as const)]);
    if (cursor || !this.moreRuns) this.moreRuns = page.next_cursor;
  }

  // agentOf is who made a turn, as far as it is known.
  agentOf(run: string): string {
    return this.known.value.get(run)?.agent_id ?? recordOf(run).agent ?? '';
  }

  // sync finds the open run and follows it. It is asked again whenever something may have
  // changed behind the page's back. What a person has begun meanwhile goes before what it
  // finds.
  async sync(): Promise<void> {
    const taken = this.runs.taken;
    const [info, { active_run: run }] = await Promise.all([get<ThreadInfo>(this.path('')), get<{ active_run: Run | null }>(this.path('/runs/active'))]);
    if (this.closed) return;
    const grown = this.info.value !== undefined && this.info.value.messages !== info.messages;
    this.info.value = info;
    if (taken !== this.runs.taken) return;
    if (run) return this.watch(recordOf(run.run_id), run);
    if (this.active.value?.complete === false) await follow(this.active.value);
    if (grown) await this.refresh();
    if (taken === this.runs.taken && !this.closed) this.watchNewest();
    // What is queued opens in a moment, what is delayed at some time.
    const again = info.queued ? 500 : info.delayed ? 30_000 : 0;
    if (again) setTimeout(() => void this.quietly(() => this.sync()), again);
  }

  // readLatest reads how the newest run ended, of which the messages say nothing.
  private async readLatest(): Promise<void> {
    const last = this.messages.value.findLast((m) => m.run_id)?.run_id;
    if (!last) return;
    await this.readRuns();
    if (!this.active.value) this.latest.value = this.known.value.get(last) ?? (await get<Run>(`v1/runs/${last}`));
  }

  // watchNewest follows a run that has begun and ended between two looks: what it said is
  // among the messages, how it ended is not. The ids of runs begin with their time.
  private watchNewest(): void {
    const last = this.messages.value.findLast((m) => m.run_id && !m.pending)?.run_id;
    if (last && last > (this.active.value?.id ?? this.latest.value?.run_id ?? last)) this.watch(recordOf(last));
  }

  // watch follows a run to its end, and what comes after it.
  watch(record: RunRecord, run?: Run): void {
    const known = this.active.value === record;
    this.active.value = record;
    if (known && record.status === 'waiting' && run?.status === 'waiting' && asksOf(record.children.tickets) === asksOf(run.children?.tickets)) return; // nothing new
    if (this.watched === record.id) return;
    this.watched = record.id;
    void (async () => {
      const at = record.steps.filter((s) => s.ended).length;
      const stop = record.version.subscribe(() => {
        if (record.steps.filter((s) => s.ended).length > at) void this.quietly(() => this.refresh()); // what was steered to it
      });
      await follow(record);
      stop();
      if (this.watched === record.id) this.watched = '';
      if (this.closed) return;
      await this.quietly(async () => {
        await this.refresh();
        if (!record.complete) return;
        await this.sync();
        await this.refresh();
      });
    })();
  }

  // decided follows a run that has an answer, until it has read it.
  async decided(record: RunRecord, suspension: string): Promise<void> {
    await answered(record, suspension, (r) => (this.watch(r), follow(r)), () => this.closed);
  }

  private async quietly(f: () => Promise<void>): Promise<void> {
    try {
      await f();
    } catch {
      // the next look brings it; what a person asked for says its error itself
    }
  }

  // say sends what a person wrote. The run that is to read it is followed.
  async say(content: Block[], agent: string, mode: Mode, replace?: string): Promise<void> {
    const message: Message = { id: newID(), role: 'user', content, created_at: Date.now(), pending: this.busy };
    const body: Record<string, unknown> = { messages: [{ id: message.id, role: 'user', content }] };
    if (agent) body.agentId = agent;
    if (replace) {
      body.replace_message = replace;
      this.instead.set(message.id, replace);
      await this.start({ ...body, threadId: this.id }, replace);
      return;
    }
    const busy = this.busy;
    this.sent.value = [...this.sent.value, message];
    try {
      if (!busy) await this.start({ ...body, threadId: this.id });
      else {
        await this.started(async () => {
          const got = await call<{ run_id: string }>('POST', this.path('/messages'), { ...body, mode }, { 'idempotency-key': newID() });
          return mode === 'interrupt' || got.run_id === this.active.value?.id ? recordOf(got.run_id) : undefined;
        });
        await this.quietly(() => this.refresh());
      }
    } catch (e) {
      this.sent.value = this.sent.value.filter((m) => m !== message);
      throw e;
    }
  }

  // unread is the address of input that no step has read.
  private async unread(message: string): Promise<string> {
    for (let cursor: string | null = ''; cursor !== null; ) {
      const page: { items: { dispatch_id: string; messages?: Message[] }[]; next_cursor: string | null } = await get(this.path(`/mailbox${query({ limit: 50, status: 'queued', cursor })}`));
      const found = page.items.find((d) => d.messages?.some((m) => m.id === message));
      if (found) return this.path(`/mailbox/${found.dispatch_id}`);
      cursor = page.next_cursor;
    }
    throw new Refused(404, 'not_found', 'a step has already read it');
  }

  // whenRead says when what is queued is read.
  whenRead(m: Message): string {
    const active = this.active.value;
    if (!this.busy || !active) return 'queued';
    if (!m.run_id) return 'queued';
    if (m.run_id === active.id) return 'queued: read before the next step';
    const runs = [...new Set(this.messages.value.filter((o) => o.pending && o.run_id && o.run_id !== active.id).map((o) => o.run_id!))].sort();
    const before = runs.indexOf(m.run_id);
    return before > 0 ? `queued: after ${before + 1} runs` : 'queued: next after this run';
  }

  // change replaces what waits to be read, takeBack takes it out.
  async change(message: string, content: Block[]): Promise<void> {
    await call('PATCH', await this.unread(message), { messages: [{ id: message, role: 'user', content }] });
    await this.refresh();
  }

  // sayNow reads what is queued in the open run: at its next step.
  async sayNow(message: Message): Promise<void> {
    const content = message.content ?? [];
    await this.takeBack(message.id);
    try {
      await this.say(content, '', 'steer');
    } catch (e) {
      await this.say(content, '', 'queue'); // it is not lost
      throw e;
    }
  }

  async takeBack(message: string): Promise<void> {
    await call('DELETE', await this.unread(message));
    this.sent.value = this.sent.value.filter((m) => m.id !== message);
    await this.refresh();
  }

  // again asks for another answer to what was said before a message.
  async again(message: string): Promise<void> {
    const run = this.messages.value.find((m) => m.id === message)?.run_id;
    const first = this.messages.value.find((m) => m.role === 'assistant' && m.run_id === run);
    await this.start({ threadId: this.id, regenerate_from: message }, first?.id);
  }

  // start begins a run, which takes back all that was said from a message on, if one is named.
  private async start(body: Record<string, unknown>, from?: string): Promise<void> {
    await this.started(() => begin(body, newID()), (record) => {
      if (from) this.away.value = { run: record.id, from };
      this.problem.value = undefined;
      this.latest.value = undefined;
    });
    const away = this.away.value;
    await this.quietly(() => this.refresh());
    if (this.away.value === away) this.away.value = undefined;
  }

  // started follows the run that a user's request has started, if any. An answer that comes
  // after the answer to a newer request changes nothing: take is not called for it.
  private async started(request: () => Promise<RunRecord | undefined>, take?: (record: RunRecord) => void): Promise<void> {
    const asked = ++this.runs.asked;
    const record = await request();
    if (!record || asked < this.runs.taken) return;
    this.runs.taken = asked;
    take?.(record);
    this.watch(record);
  }

  // goOn takes a run up that has failed, at its last commit.
  async goOn(run: string): Promise<void> {
    await this.started(async () => recordOf((await call<{ run_id: string }>('POST', `v1/runs/${run}/continue`)).run_id));
  }

  async stop(): Promise<void> {
    const record = this.active.value;
    if (!record) return;
    try {
      await call('POST', `v1/runs/${record.id}/cancel`);
    } catch (e) {
      if (!(e instanceof Refused && e.status === 404)) throw e; // it has ended by itself
    }
    this.watch(record);
  }

  async fork(at: string): Promise<string> {
    return (await call<{ thread_id: string }>('POST', this.path('/fork'), { at }, { 'idempotency-key': newID() })).thread_id;
  }

  // items are what the chat shows, in its order: what is stored, then what the open run
  // says, then what waits to be read.
  readonly items = computed<Item[]>(() => {
    const active = this.active.value;
    if (active) active.version.value;
    const items: Item[] = [];
    const later: Item[] = [];
    const shown = new Set<string>();
    const opens = opener(this.messages.value, active);
    const messages = standing(this.messages.value, this.messages.value.filter((m) => m.pending && opens(m)), this.instead, this.away.value?.run === active?.id ? this.away.value?.from : undefined);
    const results = new Map(messages.flatMap((m) => (m.tool_result ? [[`${m.run_id} ${m.tool_result.call_id}`, m] as const] : [])));
    const read = new Set(messages.filter((m) => !m.pending).map((m) => m.id));
    let before = '';
    for (const m of [...messages, ...this.sent.value]) {
      if (m.run_id && m.run_id !== before && !m.pending) {
        const run = this.known.value.get(before);
        if (run && run.status === 'done' && run.termination?.type !== 'natural_end') items.push({ kind: 'ended', run });
        before = m.run_id;
      }
      if (m.pending && read.has(m.id)) continue; // it is said again, and shown where it was until it is read again
      if (m.role === 'user') {
        const waits = m.pending && !opens(m);
        (waits ? later : items).push({ kind: 'said', message: waits ? m : { ...m, pending: false } });
      }
      if (m.role !== 'assistant') continue;
      const step = m.run_id && m.run_id === active?.id ? active.steps.find((s) => s.step === m.step) : undefined;
      if (step) shown.add(`${step.step}`);
      items.push(step ? { kind: 'turn', turn: step, record: active } : this.turnOf(m, results));
    }
    if (active) {
      const first = this.messages.value.find((m) => m.role === 'assistant' && m.run_id === active.id)?.step ?? 0;
      // Among messages that are older than those here, or nowhere, since others took their place.
      const gone = (s: Step) => s.said && !s.failed && (s.step < first || this.settled === active.id);
      for (const s of active.steps) if (!shown.has(`${s.step}`) && !isVoid(s, active) && !gone(s)) items.push({ kind: 'turn', turn: s, record: active });
      items.push({ kind: 'end', record: active });
    }
    return [...items, ...later];
  });

  // turnOf makes a turn of messages, the same one as long as they are the same.
  private turnOf(m: Message, results: Map<string, Message>): Item {
    const of = (m.tool_calls ?? []).map((c) => results.get(`${m.run_id} ${c.id}`));
    const had = this.turns.get(m);
    if (had && had.results.every((r, i) => r === of[i])) return had.item;
    const item: Item = { kind: 'turn', turn: stored(m, results) };
    this.turns.set(m, { results: of, item });
    return item;
  }
}

const asksOf = (tickets: ChildTicket[] = []) => tickets.map((t) => `${t.run_id} ${t.suspension_id}`).sort().join();

// opener tells the input that began the open run from what was steered to it: both are
// said to wait until a step has read them, and the run is at the first already.
function opener(messages: Message[], active: RunRecord | undefined): (m: Message) => boolean {
  const first = messages.find((m) => m.run_id !== undefined && m.run_id === active?.id);
  return (m) => first?.pending === true && m.run_id === first.run_id && m.created_at === first.created_at;
}

// standing leaves out what the input that opens a run takes back: the message that it says
// again or that it stands instead of, and all that was said behind that. The log has it
// until the run has committed. from is where that begins of a run which no list knows yet.
function standing(messages: Message[], opening: Message[], instead: Map<string, string>, from?: string): Message[] {
  const gone = new Set([from, ...opening.flatMap((m) => [m.id, instead.get(m.id)])]);
  const cut = messages.findIndex((m) => !m.pending && gone.has(m.id));
  return cut < 0 ? messages : messages.filter((m, i) => i < cut || m.pending);
}

// isVoid says that a step came to nothing that could be shown: the run failed in it.
const isVoid = (s: Step, r: RunRecord) => r.complete && !s.blocks.length && !s.calls.length && !s.voids.length && !s.failed;

// stored makes a turn of messages.
function stored(m: Message, results: Map<string, Message>): Turn {
  const calls = (m.tool_calls ?? []).map((c): ShownCall => {
    const shown = { ...newCall(c.id, c.name), arguments: c.arguments, status: 'running' };
    const r = results.get(`${m.run_id} ${c.id}`);
    if (!r?.tool_result) return shown;
    const { data, message, content, status, is_error } = r.tool_result;
    return { ...shown, status: status ?? (is_error ? 'error' : 'ok'), result: data, message, content, isError: is_error };
  });
  return {
    id: m.id, run: m.run_id ?? '', step: m.step ?? 0, at: m.created_at, blocks: m.content ?? [], calls, usage: m.usage, model: m.model, stop: m.stop_reason, voids: [], retries: [],
  };
}
