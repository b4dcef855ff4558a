// Which view an address shows. All of it stands behind the #, so that the host needs no
// rewriting and every selection is a link.
import { computed, signal } from '@preact/signals';

export type View = 'thread' | 'runs' | 'waiting' | 'agents';

export interface Route {
  view: View;
  thread: string; // empty: a new one
  run: string; // empty: the newest
  agent: string;
  step: number; // 0: none is selected
  call: string;
  tab: string;
  status: string; // the filters of the runs
  search: string;
}

export const tabs = ['timeline', 'state', 'sent', 'events', 'use'] as const;

const hash = signal(location.hash);
addEventListener('hashchange', () => (hash.value = location.hash));

// parse reads #/t/ID, #/t/ID/r/RUN?step=&call=&tab=, #/runs?status=&agent=&q=, #/waiting
// and #/agents/ID. What it does not know is a new thread.
export function parse(text: string): Route {
  const [path, search = ''] = text.replace(/^#\/?/, '').split('?');
  const parts = path.split('/').map(decode);
  const q = new URLSearchParams(search);
  const route: Route = {
    view: 'thread', thread: '', run: '', agent: q.get('agent') ?? '', step: Number(q.get('step')) || 0, call: q.get('call') ?? '',
    tab: q.get('tab') ?? '', status: q.get('status') ?? '', search: q.get('q') ?? '',
  };
  if (parts[0] === 't' && parts[1]) {
    route.thread = parts[1];
    if (parts[2] === 'r' && parts[3]) route.run = parts[3];
  } else if (parts[0] === 'runs' || parts[0] === 'waiting') route.view = parts[0];
  else if (parts[0] === 'agents') {
    route.view = 'agents';
    route.agent = parts[1] ?? '';
  }
  return route;
}

function decode(text: string): string {
  try {
    return decodeURIComponent(text);
  } catch {
    return text; // written by hand
  }
}

// address is the reverse of parse.
export function address(r: Partial<Route>): string {
  const q = new URLSearchParams();
  const put = (name: string, value: string | number | undefined) => value && q.set(name, String(value));
  let path = '#/';
  if (r.view === 'runs' || r.view === 'waiting') path += r.view;
  else if (r.view === 'agents') path += r.agent ? `agents/${encodeURIComponent(r.agent)}` : 'agents';
  else if (r.thread) {
    path += `t/${encodeURIComponent(r.thread)}`;
    if (r.run) path += `/r/${r.run}`;
  }
  if (r.view === 'runs') {
    put('status', r.status);
    put('agent', r.agent);
    put('q', r.search);
  } else if (r.view !== 'agents') {
    if (!r.thread) put('agent', r.agent);
    put('step', r.step);
    put('call', r.call);
    put('tab', r.tab);
  }
  const text = q.toString();
  return text ? `${path}?${text}` : path;
}

export const route = computed(() => parse(hash.value));

// go shows another view. Without a step back: what only selects something else replaces
// the address, so that Back leaves the thread and not the selection. The view follows at
// once: what is typed next belongs to it.
export function go(r: Partial<Route>, replace = false): void {
  const to = address(r);
  if (replace) history.replaceState(null, '', to);
  else location.hash = to;
  hash.value = location.hash;
}

// select changes the selection of the view that is shown.
export const select = (change: Partial<Route>) => go({ ...route.value, ...change }, true);
