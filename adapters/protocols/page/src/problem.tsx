// Errors, where they arose: what it was, its code, what to do.
import type { ComponentChildren } from 'preact';
import { Refused, Unreachable } from './api';
import { Copy } from './json';
import { address } from './route';

// advice says what a person can do about a code of the host.
const advice: Record<string, string> = {
  unauthorized: 'The host wants a token: enter one at the top.',
  denied: 'You are known and have no place in this deployment. Ask who runs it.',
  not_found: 'It does not exist, or it is somebody else’s.',
  deleted: 'It was deleted, for good.',
  busy: 'A run is open. Wait for it, stop it, or interrupt it.',
  full: 'Too much waits here already. Let it come to its turn, or stop the run.',
  decided: 'Somebody else was faster. What they decided is shown as soon as the run says it.',
  superseded: 'Newer input has taken its place.',
  closing: 'The run is ending. Try again when it has.',
  conflict: 'It has changed meanwhile. Reload and try again.',
  too_large: 'Send less at once.',
  throttled: 'Too many requests. Try again in a moment.',
  unavailable: 'The host cannot reach what it needs. Try again in a moment.',
  internal: 'The host’s log says more.',
  model: 'The provider refused the request: the detail and the host’s log say why.',
  rate_limited: 'The provider’s limit is reached. Wait, then go on.',
  overloaded: 'The provider is overloaded. Wait, then go on.',
  timeout: 'It took too long. Go on to try again.',
  dead_letter: 'No attempt made progress. The host’s log has the reason of each; then go on.',
  resolution: 'The agent cannot be put together any more: a part of it is missing in this program.',
  plugin: 'A plugin failed. The host’s log says where.',
  invalid: 'Change what was sent, then try again.',
};

interface Said {
  title: string;
  detail: string;
  code: string;
  todo: string;
}

export function explain(e: unknown): Said {
  if (e instanceof Refused) {
    return { title: e.status === 404 || e.status === 410 ? 'Not here' : 'The host refused', detail: e.message, code: e.code, todo: advice[e.code] ?? '' };
  }
  if (e instanceof Unreachable) {
    return { title: 'The host does not answer', detail: '', code: '', todo: 'Start it with make run, or look whether the address is right. The page goes on by itself.' };
  }
  return { title: 'The page failed', detail: e instanceof Error ? e.message : String(e), code: '', todo: 'Reload the page.' };
}

// Problem shows an error with what can be done about it.
export function Problem({ error, children }: { error: unknown; children?: ComponentChildren }) {
  const said = explain(error);
  const gone = error instanceof Refused && (error.status === 404 || error.status === 410);
  return (
    <Card {...said}>
      {children}
      {gone && <a class="button" href={address({})}>New thread</a>}
    </Card>
  );
}

// Failure shows the error that a run ended with.
export function Failure({ code, detail, children }: { code: string; detail: string; children?: ComponentChildren }) {
  return <Card title="The run failed" detail={detail} code={code} todo={advice[code] ?? 'Go on from the last step, or ask again.'}>{children}</Card>;
}

function Card({ title, detail, code, todo, children }: Said & { children?: ComponentChildren }) {
  return (
    <div class="problem" role="alert">
      <p>
        <strong>{title}</strong> {code && <code>{code}</code>}
      </p>
      {detail && <p class="detail">{detail}</p>}
      {todo && <p>{todo}</p>}
      <div class="actions">
        {children}
        <Copy text={[title, code, detail].filter(Boolean).join('\n')} label="Copy error" />
      </div>
    </div>
  );
}
