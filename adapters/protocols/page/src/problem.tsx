// Errors, where they arose: what it was, its code, what to do.
import type { ComponentChildren } from 'preact';
import { Refused, Unreachable } from './api';
import { Copy } from './json';
import { address } from './route';

// advice is the next action of a user for each code of the host.
const advice: Record<string, string> = {
  unauthorized: 'The host requires a token. Enter one at the top.',
  denied: 'This deployment does not admit you. Ask its operator.',
  not_found: 'It does not exist, or it belongs to another user.',
  deleted: 'It was deleted permanently.',
  busy: 'A run is open. Wait for it, stop it, or interrupt it.',
  full: 'Too many runs wait on this thread. Wait, or stop the run.',
  decided: 'Another user was faster. Their decision appears here soon.',
  superseded: 'Newer input replaced it.',
  closing: 'The run is ending. Wait for its end and try again.',
  conflict: 'It has changed. Reload and try again.',
  too_large: 'Send less at once.',
  throttled: 'Too many requests. Try again in a moment.',
  unavailable: 'The host cannot reach a service. Try again in a moment.',
  internal: 'The host’s log has the details.',
  model: 'The provider refused the request. The detail and the host’s log have the reason.',
  rate_limited: 'The provider’s limit is reached. Wait, then continue.',
  overloaded: 'The provider is overloaded. Wait, then continue.',
  timeout: 'It took too long. Continue to try again.',
  dead_letter: 'No attempt made progress. Read the reasons in the host’s log, then continue.',
  resolution: 'A part of the agent is missing in this program.',
  plugin: 'A plugin failed. The host’s log has the details.',
  invalid: 'Change the request, then try again.',
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
    return { title: 'The host does not respond', detail: '', code: '', todo: 'Start it with make run, or check the address. The page continues by itself.' };
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
  return <Card title="The run failed" detail={detail} code={code} todo={advice[code] ?? 'Continue from the last step, or ask again.'}>{children}</Card>;
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
