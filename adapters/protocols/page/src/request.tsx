// The request that the model of a step was sent, as the host remakes it.
import { useEffect, useState } from 'preact/hooks';
import { Refused, absolute, get, query, segment } from './api';
import { count } from './format';
import { Icon } from './icons';
import { Copy, JSONView, oneLine, pretty } from './json';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { route, select } from './route';
import { timedOf } from './timed';
import type { Block, JSONValue, Message } from './types';
import { took } from './format';

interface Request {
  provider?: string;
  model?: string;
  system?: string | Block[];
  tools?: { name: string; description?: string; parameters?: JSONValue }[];
  messages?: Message[];
  options?: { [name: string]: JSONValue };
  window?: { limit?: number; estimate?: number; tokens?: number; omitted?: number; omitted_tokens?: number; shortened?: number; summary?: boolean };
  tokens?: { system?: number; tools?: number; messages?: number };
  hash?: string;
}

// Got is what there is of a request: the whole, or what the thread said before, and why.
type Got = { request: Request; why?: undefined } | { messages: Message[]; cut: boolean; why: Refused };

// read reads the request of a step. Where the host does not tell it, it is what the thread
// has said before.
async function read(record: RunRecord, step: number, said: boolean): Promise<Got> {
  try {
    if (!said) throw new Refused(404, 'open', 'The host stores the request with the response of the model.');
    return { request: await get<Request>(`v1/runs/${record.id}/steps/${step}/request`) };
  } catch (e) {
    if (!(e instanceof Refused) || (e.status !== 403 && e.status !== 404)) throw e;
    const page = await get<{ messages: Message[]; next_cursor: string | null }>(`v1/threads/${segment(record.thread)}/messages${query({ limit: 200, order: 'desc' })}`);
    const messages = page.messages.reverse().filter((m) => !m.pending);
    const end = messages.findIndex((m) => m.run_id === record.id && m.role !== 'user' && (m.step ?? 0) >= step);
    return { messages: end < 0 ? messages : messages.slice(0, end), cut: page.next_cursor !== null, why: e };
  }
}

export function RequestView({ record }: { record: RunRecord }) {
  record.version.value;
  const all = timedOf(record);
  const numbers = all.map((s) => s.step);
  const step = numbers.includes(route.value.step) ? route.value.step : numbers.at(-1) ?? 1;
  const here = all.find((s) => s.step === step);
  const [got, setGot] = useState<{ of: string; value: Got | Error } | undefined>(undefined);
  const of = `${record.id} ${step} ${!!here?.said}`;
  useEffect(() => {
    let late = false;
    read(record, step, !!here?.said && !here.cut).then((value) => !late && setGot({ of, value }), (value) => !late && setGot({ of, value }));
    return () => void (late = true);
  }, [of]);
  const value = got?.of === of ? got.value : undefined;
  return (
    <div class="pane-body">
      <div class="between">
        <label class="inline">
          <strong>Step</strong>{' '}
          <select value={step} onChange={(e) => select({ step: Number(e.currentTarget.value), call: 'model' })}>
            {numbers.map((s) => <option key={s} value={s}>{s}</option>)}
          </select>
          {here && here.attempts.length + here.more > 1 && <span class="meta">try {here.attempts.length + here.more}</span>}
        </label>
        {value && !(value instanceof Error) && (
          <span class="inline">
            <Copy text={`curl ${absolute(`v1/runs/${record.id}/steps/${step}/request`)}`} label="Copy as curl"><Icon name="copy" /> curl</Copy>
            <Copy text={JSON.stringify(value.why ? { messages: value.messages } : value.request, null, 2)} label="Copy as JSON"><Icon name="copy" /> JSON</Copy>
          </span>
        )}
      </div>
      {value instanceof Error ? <Problem error={value} /> : value && (value.why ? <Rebuilt {...value} /> : <Whole request={value.request} />)}
      {here && !!(here.said || here.failed) && (
        <dl class="facts">
          <dt>Answer</dt>
          <dd>{[here.failed || here.stop, here.usage?.output && `${here.usage.output.toLocaleString()} out`, firstToken(here) && `first token ${took(firstToken(here))}`].filter(Boolean).join(', ')}</dd>
          {value && !(value instanceof Error) && !value.why && value.request.options && Object.keys(value.request.options).length > 0 && <><dt>Options</dt><dd><Options of={value.request.options} /></dd></>}
          {here.usage?.input ? <><dt>Cached</dt><dd>{(here.usage.cache_read ?? 0).toLocaleString()} of {here.usage.input.toLocaleString()} in</dd></> : null}
        </dl>
      )}
    </div>
  );
}

const firstToken = (s: { attempts: { began_at: number; first_at?: number }[]; first: number }) => {
  const last = s.attempts.at(-1);
  const first = last?.first_at || s.first;
  return last && first > last.began_at ? first - last.began_at : 0;
};

function Options({ of }: { of: { [name: string]: JSONValue } }) {
  return <code>{Object.entries(of).map(([name, value]) => `${name} ${oneLine(value, 200)}`).join(', ')}</code>;
}

function Rebuilt({ messages, cut, why }: { messages: Message[]; cut: boolean; why: Refused }) {
  return (
    <>
      <div class="msg unsent">
        <p><strong>{why.status === 403 ? 'The request is not shown' : 'The request is not stored'}</strong> <code>{why.code}</code></p>
        <p class="meta">{why.message}</p>
        <p class="meta">Below are the messages of the thread before this step{cut && ' (the newest 200)'}. They lack additions of plugins, and the window may have omitted some.</p>
      </div>
      <Messages all={messages} />
    </>
  );
}

function Whole({ request: r }: { request: Request }) {
  const system = typeof r.system === 'string' ? r.system : (r.system ?? []).map((b) => b.text ?? '').join('\n\n');
  const tools = r.tools ?? [];
  return (
    <>
      <p class="meta">{[r.provider, r.model].filter(Boolean).join(', ')}</p>
      <Shares of={r} />
      {system && <Fold name="System" tokens={r.tokens?.system} open><p class="said-text" dir="auto">{system}</p></Fold>}
      {tools.length > 0 && (
        <Fold name={`Tools: ${tools.slice(0, 2).map((t) => t.name).join(', ')}${tools.length > 2 ? ` and ${tools.length - 2} more` : ''}`} tokens={r.tokens?.tools}>
          {tools.map((t) => <div key={t.name} class="part"><p><code>{t.name}</code></p>{t.description && <p class="meta">{t.description}</p>}<JSONView value={t.parameters} label={`parameters of ${t.name}`} /></div>)}
        </Fold>
      )}
      <Omitted of={r} />
      <Messages all={r.messages ?? []} tokens={r.tokens?.messages} />
      {!r.messages?.length && <p class="empty">The request has no messages.</p>}
      {r.hash && <p class="meta">hash <code>{r.hash}</code></p>}
    </>
  );
}

// Shares shows how much of the window the parts of a request take.
function Shares({ of: r }: { of: Request }) {
  const parts = [['system', r.tokens?.system ?? 0], ['tools', r.tokens?.tools ?? 0], ['messages', r.tokens?.messages ?? 0]] as const;
  const sum = parts.reduce((n, [, t]) => n + t, 0);
  const limit = r.window?.limit ?? 0;
  if (!sum) return null;
  return (
    <div class="shares">
      <div class="shares-bar" aria-hidden="true">{parts.map(([name, t]) => t > 0 && <i key={name} class={`s-${name}`} style={{ width: `${(t / Math.max(sum, limit)) * 100}%` }} />)}</div>
      <div class="legend">
        {parts.map(([name, t]) => <span key={name}><i class={`key s-${name}`} aria-hidden="true" />{name} {t.toLocaleString()}</span>)}
        {limit > 0 && <span>of {limit.toLocaleString()} that the window allows</span>}
      </div>
    </div>
  );
}

function Omitted({ of: r }: { of: Request }) {
  const { omitted = 0, omitted_tokens: saved = 0, shortened = 0, summary } = r.window ?? {};
  if (!omitted && !shortened) return null;
  return (
    <div class="msg unsent">
      <div class="between">
        <span class="status queued"><Icon name="ban" />{omitted ? `not sent: ${count(omitted, 'message')}` : 'shortened'}</span>
        {saved > 0 && <span class="meta">{saved.toLocaleString()} saved</span>}
      </div>
      <p class="meta">
        {omitted > 0 && (summary ? 'A summary replaces them. ' : 'The window dropped the oldest. ')}
        {shortened > 0 && `${count(shortened, 'large result')} ${shortened === 1 ? 'was' : 'were'} shortened.`}
      </p>
    </div>
  );
}

// Messages lists messages; results that follow each other are one row.
function Messages({ all, tokens }: { all: Message[]; tokens?: number }) {
  const groups: Message[][] = [];
  for (const m of all) {
    if (m.role === 'tool' && groups.at(-1)?.[0].role === 'tool') groups.at(-1)!.push(m);
    else groups.push([m]);
  }
  const sizes = groups.map((g) => JSON.stringify(g).length);
  const sum = sizes.reduce((n, s) => n + s, 0);
  return (
    <>
      {groups.map((g, i) => (
        <Fold key={i} name={lineOf(g)} tokens={tokens && Math.round((tokens * sizes[i]) / sum)} open={i === groups.length - 1 && sizes[i] < 4000}>
          {g.map((m, j) => <Said key={j} message={m} />)}
        </Fold>
      ))}
    </>
  );
}

function lineOf(g: Message[]): string {
  const m = g[0];
  if (m.role === 'tool') return `tool: ${g.map((t) => t.tool_result?.name ?? 'result').join(', ')}`;
  const text = (m.content ?? []).filter((b) => b.type === 'text').map((b) => b.text).join(' ').trim();
  if (text) return `${m.role}: ${oneLine(text, 160)}`;
  if (m.tool_calls?.length) return `${m.role}: ${count(m.tool_calls.length, 'call')}`;
  return `${m.role}: ${(m.content ?? []).map((b) => b.filename ?? b.type).join(', ')}`;
}

function Said({ message: m }: { message: Message }) {
  return (
    <>
      {(m.content ?? []).map((b, i) => (b.type === 'file' ? <p key={i} class="meta">{b.filename ?? 'file'} {b.media_type}</p> : <p key={i} class={`said-text${b.type === 'reasoning' ? ' meta' : ''}`} dir="auto">{b.text}</p>))}
      {m.tool_calls?.map((c) => <div key={c.id} class="part"><p><code>{c.name}</code></p><JSONView value={c.arguments} label={`arguments of ${c.name}`} /></div>)}
      {m.tool_result && <div class="part"><p><code>{m.tool_result.name}</code></p><JSONView value={m.tool_result.message ?? pretty(m.tool_result.data)} label={`result of ${m.tool_result.name}`} /></div>}
    </>
  );
}

// Fold shows its content when it is opened, and not before: there may be much of it.
function Fold({ name, tokens, open: first, children }: { name: string; tokens?: number; open?: boolean; children: preact.ComponentChildren }) {
  const [open, setOpen] = useState(!!first);
  return (
    <details class="msg" open={open} onToggle={(e) => setOpen(e.currentTarget.open)}>
      <summary><Icon name={open ? 'down' : 'right'} /><strong class="cut grow">{name}</strong>{tokens ? <span class="meta">{tokens.toLocaleString()}</span> : null}</summary>
      {open && <div class="in">{children}</div>}
    </details>
  );
}
