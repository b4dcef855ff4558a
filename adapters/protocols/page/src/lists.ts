// What is listed: threads, runs, what waits, agents. Lists that are shown are read again
// every five seconds, and when somebody comes back to the tab.
import { signal, type Signal } from '@preact/signals';
import { Refused, Unreachable, get, locked, offered, query, reachedAgain, segment } from './api';
import { hear } from './tabs';
import { route } from './route';
import type { Answer, Approval, Run, Schema, Termination, Usage } from './types';

export interface ThreadSummary {
  thread_id: string;
  title?: string;
  agent_id?: string;
  first_asked?: string; // how its first input begins
  asked?: string; // how its newest input begins
  excerpt?: string;
  active_run: { run_id: string; status: string } | null;
  last_run?: { run_id: string; status: string; termination?: Termination; steps: number; usage?: Usage } | null;
  last_activity: number;
  created_at: number;
}

export interface AgentTool {
  name: string;
  description?: string;
  parameters?: Schema;
  client?: boolean;
}

export interface Agent {
  id: string;
  description?: string;
  model: string;
  default?: boolean;
  plugins: string[];
  tools: string[];
  delegates: string[];
  context_window?: number; // tokens that a request may have
  window_assumed?: boolean;
  inputs?: string[]; // kinds of files that its models accept
  answers?: Answer[]; // where the host shows it
}

export type AgentDetail = Omit<Agent, 'tools'> & { tools: AgentTool[]; max_rounds?: number; execution_mode?: string };

interface Page {
  has_more: boolean;
  next_cursor: string | null;
}

const interval = 5000;

// List is one that is read page by page. It is absent while nothing was read, and when
// the host does not offer it.
export class List<T> {
  readonly items = signal<T[] | undefined>(undefined);
  readonly more = signal<string | null>(null);
  readonly problem = signal<unknown>(undefined);
  readonly missing = signal(false); // the host has no such list
  private pages = 1;
  private turn = 0;

  constructor(private readonly path: () => string | undefined, private readonly key: string) {}

  // clear forgets what was read, such as for another filter.
  clear(): void {
    this.pages = 1;
    this.turn++;
    this.items.value = undefined;
  }

  // reset reads the first page again.
  reset(): Promise<void> {
    this.pages = 1;
    return this.read();
  }

  // read reads as many pages again as are shown. What comes late is dropped.
  async read(): Promise<void> {
    const path = this.path();
    if (path === undefined) return;
    const turn = ++this.turn;
    try {
      let items: T[] = [];
      let cursor: string | null = null;
      for (let i = 0; i < this.pages; ) {
        const page: (Page & Record<string, unknown>) | undefined = await offered(cursor ? `${path}${path.includes('?') ? '&' : '?'}cursor=${encodeURIComponent(cursor)}` : path);
        if (turn !== this.turn) return;
        if (!page) {
          this.missing.value = true;
          return;
        }
        items = [...items, ...(page[this.key] as T[])];
        cursor = page.next_cursor;
        if (!cursor) break;
        if ((page[this.key] as T[]).length) i++; // a filtered page may be empty and lead on
      }
      this.items.value = items;
      this.more.value = cursor;
      this.problem.value = undefined;
      this.missing.value = false;
    } catch (e) {
      if (turn !== this.turn) return;
      if (!(e instanceof Unreachable)) this.problem.value = e; // the shell says once that the host is gone
    }
  }

  async readMore(): Promise<void> {
    this.pages++;
    await this.read();
  }
}

export const threadSearch = signal('');
export const threads = new List<ThreadSummary>(() => `v1/threads/summaries${query({ limit: 50, q: threadSearch.value })}`, 'threads');

// spans are the times that lists of the past go back, in milliseconds.
export const spans = { '1h': 3_600_000, '24h': 86_400_000, '7d': 7 * 86_400_000, '30d': 30 * 86_400_000 } as const;

// reach is how far back a list goes; 0 is to its beginning. Without a choice it is a day.
export const reach = (since: string) => (since === 'all' ? 0 : spans[since as keyof typeof spans] ?? spans['24h']);

export const runs = new List<Run>(() => {
  const { status, agent, search, since, origin, parent, over, cost } = route.value;
  const ended = { failed: 'error', cancelled: 'cancelled' }[status];
  const span = parent ? 0 : reach(since);
  return `v1/runs${query({
    limit: 50, status: ended ? '' : status, termination: ended, agent, q: search, since: span ? Date.now() - span : '', origin, parent, min_ms: over, min_cost: cost,
  })}`;
}, 'runs');

// An Hour is what runs came to in an hour that began at a time.
export interface Hour {
  at: number;
  runs: number;
  input: number;
  output: number;
  cost_usd?: number | null; // null: the price of a model is unknown
}

export interface Summary {
  from: number;
  to: number;
  hours: Hour[];
  totals: { runs: number; input: number; output: number; cache_read?: number; cost_usd?: number | null };
}

// Part is a value that is read as a whole, such as a report. It is absent while nothing was
// read, and where the host does not offer it.
export class Part<T> {
  readonly value = signal<T | undefined>(undefined);
  readonly problem = signal<unknown>(undefined);
  readonly missing = signal(false);
  private turn = 0;

  constructor(private readonly path: () => string) {}

  async read(): Promise<void> {
    const turn = ++this.turn;
    try {
      const got = await offered<T>(this.path());
      if (turn !== this.turn) return;
      this.missing.value = got === undefined;
      this.value.value = got;
      this.problem.value = undefined;
    } catch (e) {
      if (turn === this.turn && !(e instanceof Unreachable)) this.problem.value = e;
    }
  }
}

export const summary = new Part<Summary>(() => {
  const { since, agent } = route.value;
  return `v1/runs/summary${query({ since: Date.now() - (reach(since) || spans['30d']), agent })}`;
});

export const capabilities = new Part<{ models?: string[]; providers?: string[]; answers?: Answer[] }>(() => 'v1/capabilities');

export const approvals = new List<Approval>(() => 'v1/approvals?limit=100', 'approvals');

export const agents: Signal<Agent[] | undefined> = signal(undefined);

// loadAgents reads the agents once. A host that lists none has its default one.
export async function loadAgents(): Promise<void> {
  try {
    agents.value = (await offered<{ agents: Agent[] }>('v1/agents'))?.agents ?? [];
  } catch (e) {
    if (e instanceof Unreachable) void reachedAgain().then(loadAgents);
    else agents.value ??= [];
  }
}

const details = new Map<string, Signal<AgentDetail | Refused | undefined>>();

// detail is an agent with its tools. It is read again while the host does not respond.
export function detail(id: string): Signal<AgentDetail | Refused | undefined> {
  let d = details.get(id);
  if (!d) {
    const made = signal<AgentDetail | Refused | undefined>(undefined);
    details.set(id, (d = made));
    const read = (): unknown =>
      get<AgentDetail>(`v1/agents/${segment(id)}`).then((a) => (made.value = a), (e) => (e instanceof Unreachable ? reachedAgain().then(read) : (made.value = e)));
    read();
  }
  return d;
}

// poll reads lists as long as somebody looks. It returns how to end that.
export function poll(...lists: { read(): Promise<void> }[]): () => void {
  const look = () => {
    if (!document.hidden && !locked.value) for (const l of lists) void l.read();
  };
  look();
  const timer = setInterval(look, interval);
  let soon = 0;
  const deaf = hear(() => { // at once, and when what another tab asked for has happened
    clearTimeout(soon);
    soon = window.setTimeout(look, 500);
    look();
  });
  document.addEventListener('visibilitychange', look);
  addEventListener('focus', look);
  return () => {
    clearInterval(timer);
    clearTimeout(soon);
    deaf();
    document.removeEventListener('visibilitychange', look);
    removeEventListener('focus', look);
  };
}
