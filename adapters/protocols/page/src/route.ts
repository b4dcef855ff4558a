// Which view an address shows. All of it is after the #, so that the host needs no
// rewriting and every selection is a link.
import { computed, signal } from '@preact/signals';
import { closeDrawers } from './layout';

const plain = ['waiting', 'models', 'usage'] as const;

export type View = 'thread' | 'run' | 'runs' | 'agents' | (typeof plain)[number];

export interface Route {
  view: View;
  thread: string; // empty: a new one
  run: string; // empty: the newest
  agent: string;
  step: number; // 0: none is selected
  call: string;
  tab: string;
  status: string; // from here on the filters of lists
  search: string;
  since: string; // how long ago at most, such as 24h
  origin: string;
  parent: string; // a run
  over: string; // milliseconds that it took at least
  cost: string; // dollars that it cost at least
  by: string; // what the usage is grouped by
}

export const tabs = ['timeline', 'state', 'request', 'events', 'use'] as const;

const hash = signal(location.hash);

// chosen counts how often an address came from outside or a view of a run was asked for:
// both reveal the pane that shows it. What only selects something in sight does not.
export const chosen = signal(0);

addEventListener('hashchange', () => {
  if (hash.value !== location.hash) closeDrawers(); // a link was followed, or Back
  hash.value = location.hash;
  chosen.value++;
});

// filters are those of each view, by their names in the address.
const filters = { status: 'status', agent: 'agent', search: 'q', since: 'since', origin: 'origin', parent: 'parent', over: 'over', cost: 'cost' } as const;

// parse reads #/t/ID, #/t/ID/r/RUN?step=&call=&tab=, #/runs?status=&agent=&q=,
// #/runs/RUN?step=&call=&tab=, #/waiting?status=&agent=&call=, #/agents/ID, #/models and #/usage. What it does
// not know is a new thread.
export function parse(text: string): Route {
  const [path, search = ''] = text.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').map(decode);
  const q = new URLSearchParams(search);
  const given = (name: string) => q.get(name) ?? '';
  const route: Route = {
    view: 'thread', thread: '', run: '', agent: given('agent'), step: Number(given('step')) || 0, call: given('call'), tab: given('tab'),
    status: given('status'), search: given('q'), since: given('since'), origin: given('origin'), parent: given('parent'), over: given('over'), cost: given('cost'), by: given('by'),
  };
  if (parts[0] === 't' && parts[1]) {
    route.thread = parts[1];
    if (parts[2] === 'r' && parts[3]) route.run = parts[3];
  } else if (parts[0] === 'runs') {
    route.view = parts[1] ? 'run' : 'runs';
    route.run = parts[1] ?? '';
  } else if (parts[0] === 'agents') {
    route.view = 'agents';
    route.agent = parts[1] ?? '';
  } else route.view = plain.find((v) => v === parts[0]) ?? 'thread';
  return route;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // written by hand
  }
}

const part = encodeURIComponent;

function place(r: Partial<Route>): string {
  if (r.view === 'run' && r.run) return `runs/${part(r.run)}`;
  if (r.view === 'agents' && r.agent) return `agents/${part(r.agent)}`;
  if (r.view && r.view !== 'thread') return r.view === 'run' ? 'runs' : r.view;
  if (!r.thread) return '';
  return `t/${part(r.thread)}${r.run ? `/r/${part(r.run)}` : ''}`;
}

// address is the reverse of parse.
export function address(r: Partial<Route>): string {
  const q = new URLSearchParams();
  const put = (name: string, value: string | number | undefined) => value && q.set(name, String(value));
  if (r.view === 'runs') for (const [field, name] of Object.entries(filters)) put(name, r[field as keyof typeof filters]);
  else if (r.view === 'waiting') {
    put('status', r.status);
    put('agent', r.agent);
    put('call', r.call);
  } else if (r.view === 'usage') {
    put('since', r.since);
    put('by', r.by);
  } else if (!r.view || r.view === 'thread' || r.view === 'run') {
    if (!r.thread && r.view !== 'run') put('agent', r.agent);
    put('step', r.step);
    put('call', r.call);
    put('tab', r.tab);
  }
  const text = q.toString();
  return `#/${place(r)}${text && `?${text}`}`;
}

export const route = computed(() => parse(hash.value));

// go shows another view. Without a step back: what only selects something else replaces
// the address, so that Back leaves the thread and not the selection. The view follows at
// once: what is typed next belongs to it.
export function go(r: Partial<Route>, replace = false): void {
  const to = address(r);
  if (!replace) closeDrawers();
  if (replace) history.replaceState(null, '', to);
  else location.hash = to;
  hash.value = location.hash;
}

// select changes the selection of the view that is shown.
export function select(change: Partial<Route>): void {
  go({ ...route.value, ...change }, true);
  if (change.tab) chosen.value++;
}
