// Icons, and how a state is shown: always by a sign and a word, never by colour alone.

const paths = {
  plus: 'M8 3v10M3 8h10',
  search: 'M7 2.5a4.5 4.5 0 1 1 0 9 4.5 4.5 0 0 1 0-9ZM10.3 10.3 14 14',
  send: 'M8 13V3M3.5 7.5 8 3l4.5 4.5',
  stop: 'M4 4h8v8H4z',
  check: 'M3 8.5 6.5 12 13 4.5',
  cross: 'M4 4l8 8M12 4l-8 8',
  again: 'M13 8a5 5 0 1 1-1.5-3.6M13 2v3h-3',
  edit: 'M3 13l.7-3L11 2.7l2.3 2.3L6 12.3 3 13Z',
  more: 'M3.5 8h.01M8 8h.01M12.5 8h.01',
  clock: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2ZM8 4.5V8l2.5 1.5',
  hand: 'M8 2v6M8 11.5v.01M8 14.5a6.5 6.5 0 1 1 0-13 6.5 6.5 0 0 1 0 13Z',
  tool: 'M10 2.5a3.5 3.5 0 0 0-3.3 4.7L2.5 11.4 4.6 13.5l4.2-4.2A3.5 3.5 0 0 0 13.3 5L11 7.2 8.8 5 11 2.7Z',
  model: 'M8 2l1.6 4.4L14 8l-4.4 1.6L8 14l-1.6-4.4L2 8l4.4-1.6Z',
  link: 'M6.5 9.5l3-3M7 4.5 8.5 3A3.2 3.2 0 0 1 13 7.5L11.5 9M9 11.5 7.5 13A3.2 3.2 0 0 1 3 8.5L4.5 7',
  panel: 'M2.5 3h11v10h-11zM10 3v10',
  help: 'M6 6a2 2 0 1 1 3 1.8c-.7.4-1 .8-1 1.7M8 12v.01',
  fork: 'M4 3v10M4 9c5 0 8-1 8-6M12 3v.01',
  down: 'M4 6l4 4 4-4',
  pause: 'M5.5 3.5v9M10.5 3.5v9',
  ban: 'M8 2a6 6 0 1 1 0 12A6 6 0 0 1 8 2ZM4 12l8-8',
  dot: 'M8 8h.01',
  clip: 'M12 7l-4.5 4.5a2.5 2.5 0 0 1-3.5-3.5L9 3a1.7 1.7 0 0 1 2.4 2.4L6.5 10.3',
  right: 'M6 4l4 4-4 4',
  ask: 'M8 1.5a6.5 6.5 0 1 1 0 13 6.5 6.5 0 0 1 0-13ZM6.2 6.3a1.9 1.9 0 1 1 2.7 1.7c-.6.3-.9.7-.9 1.3M8 11.4v.01',
  menu: 'M2.5 4.5h11M2.5 8h11M2.5 11.5h11',
  chat: 'M2.5 3h11v8H7l-3 2.5V11H2.5z',
  list: 'M2.5 4h2M2.5 8h5M2.5 12h8M7 4h6.5M10 8h3.5',
  inbox: 'M2.5 9 4 3h8l1.5 6v4h-11zM2.5 9H6l1 2h2l1-2h3.5',
  agent: 'M4 6h8v6.5H4zM8 6V3M6.5 9v.01M9.5 9v.01M2 8.5v2M14 8.5v2',
  key: 'M10.5 2.5a3 3 0 1 1 0 6 3 3 0 0 1 0-6ZM8.4 7.6 3 13M5 11l1.5 1.5',
  gauge: 'M2.5 12a6 6 0 1 1 11 0M8 10l2.5-3.5',
  copy: 'M5.5 5.5h8v8h-8zM10.5 5.5v-3h-8v8h3',
  warn: 'M8 2.5 14.5 13.5h-13zM8 6.5v3.5M8 12v.01',
  plug: 'M6 2v3M10 2v3M4.5 5h7v2.5a3.5 3.5 0 0 1-7 0zM8 11v3',
  next: 'M3 8h10M9 4l4 4-4 4',
} as const;

export type IconName = keyof typeof paths;

export function Icon({ name }: { name: IconName }) {
  return (
    <svg class="icon" viewBox="0 0 16 16" width="16" height="16" aria-hidden="true" focusable="false">
      <path d={paths[name]} fill="none" stroke="currentColor" stroke-width="1.5" stroke-linecap="round" stroke-linejoin="round" />
    </svg>
  );
}

const states: Record<string, [tone: string, sign: IconName | '', word: string]> = {
  created: ['queued', 'clock', 'queued'],
  writing: ['running', '', 'writing'],
  running: ['running', '', 'running'],
  waiting: ['waiting', 'pause', 'waiting'],
  done: ['done', 'check', 'done'],
  ok: ['done', 'check', 'done'],
  set: ['done', 'check', 'answered'],
  natural_end: ['done', 'check', 'done'],
  behavior_requested: ['done', 'check', 'ended by a plugin'],
  stopped: ['queued', 'stop', 'stopped by a limit'],
  cancelled: ['queued', 'stop', 'cancelled'],
  superseded: ['queued', 'stop', 'superseded'],
  not_executed: ['queued', 'stop', 'not executed'],
  denied: ['failed', 'ban', 'denied'],
  blocked: ['failed', 'ban', 'blocked'],
  error: ['failed', 'cross', 'failed'],
  failed: ['failed', 'cross', 'failed'],
  invalid: ['failed', 'cross', 'invalid arguments'],
  unknown: ['failed', 'help', 'outcome unknown'],
};

// wordOf is the word for a state.
export const wordOf = (name: string) => states[name]?.[2] ?? name;

// Status shows a state of a run or a call, by the host's own name of it.
export function Status({ name, quiet }: { name: string; quiet?: boolean }) {
  const [tone, sign, word] = states[name] ?? (['queued', 'dot', name] as const);
  return <Mark tone={tone} sign={sign} word={word} quiet={quiet} />;
}

// Mark is a sign and its word. Without a sign it turns.
export function Mark({ tone, sign, word, quiet }: { tone: string; sign: IconName | ''; word: string; quiet?: boolean }) {
  return (
    <span class={`status ${tone}`}>
      {sign ? <Icon name={sign} /> : <span class="spinner" aria-hidden="true" />}
      <span class={quiet ? 'hidden' : ''}>{word}</span>
    </span>
  );
}

// outcome is the state to show of a run: how it ended, once it has.
export const outcome = (status: string, termination?: { type: string }) => (status === 'done' ? termination?.type ?? 'done' : status);
