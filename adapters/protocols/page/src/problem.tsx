// Errors, where they arose: what it was, its code, what to do.
import type { ComponentChildren } from 'preact';
import { Refused, Unreachable } from './api';
import { Status } from './icons';
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
  rate_limited: 'The provider’s limit is reached. Wait, then run it again.',
  overloaded: 'The provider is overloaded. Wait, then run it again.',
  timeout: 'It took too long. Run it again.',
  dead_letter: 'No attempt made progress. Read the reasons in the host’s log, then run it again.',
  resolution: 'A part of the agent is missing in this program.',
  plugin: 'A plugin failed. The host’s log has the details.',
  invalid: 'Change the request, then try again.',
};

interface Said {
  title: string;
  detail: string;
  code: string;
  todo: string;
  mark?: boolean; // it is the end of a run
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

// titles name what a run failed by, for the codes where that is no part of the run itself.
const titles: Record<string, string> = {
  model: 'The model failed',
  overloaded: 'The model was overloaded',
  rate_limited: 'The provider’s limit was reached',
  timeout: 'It took too long',
  plugin: 'A plugin failed',
};

// Failure shows the error that a run ended with, and how many of its steps are kept.
export function Failure({ code, detail, kept, children }: { code: string; detail: string; kept: number; children?: ComponentChildren }) {
  const stored = kept ? `${kept === 1 ? 'Step 1 is' : `Steps 1 to ${kept} are`} stored and will not be repeated. ` : '';
  return <Card title={titles[code] ?? 'The run failed'} mark detail={detail} code={code} todo={stored + (advice[code] ?? 'Run it again, or ask otherwise.')}>{children}</Card>;
}

function Card({ title, detail, code, todo, mark, children }: Said & { children?: ComponentChildren }) {
  return (
    <div class="problem" role="alert">
      <p>
        {mark && <Status name="failed" />} <strong>{title}</strong> {code && <code>{code}</code>}
      </p>
      {detail && <p class="detail" dir="auto">{detail}</p>}
      {todo && <p>{todo}</p>}
      <div class="actions">
        {children}
        <Copy text={[title, code, detail].filter(Boolean).join('\n')} label="Copy error" />
      </div>
    </div>
  );
}
