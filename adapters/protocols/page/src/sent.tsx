// What the model of a step was asked.
import { useEffect, useState } from 'preact/hooks';
import { get, query, segment } from './api';
import { count } from './format';
import { JSONView, oneLine } from './json';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { route, select } from './route';
import type { JSONValue, Message } from './types';

interface Request {
  messages?: JSONValue[];
  tools?: JSONValue[];
  rebuilt?: boolean;
  [other: string]: JSONValue | undefined;
}

// told says whether the host tells requests, as its own description has it; asked once.
let told: Promise<boolean> | undefined;
const tells = () => (told ??= get<{ paths: object }>('openapi.json').then((d) => '/v1/runs/{run}/steps/{step}/request' in d.paths));

// read reads the request of a step. Where the host does not keep them it is what the
// thread has said before.
async function read(record: RunRecord, step: number): Promise<Request> {
  if (await tells()) return get<Request>(`v1/runs/${record.id}/steps/${step}/request`);
  const page = await get<{ messages: Message[]; next_cursor: string | null }>(`v1/threads/${segment(record.thread)}/messages${query({ limit: 200, order: 'desc' })}`);
  const messages = page.messages.reverse();
  const end = messages.findIndex((m) => m.run_id === record.id && m.role !== 'user' && (m.step ?? 0) >= step);
  return { messages: (end < 0 ? messages : messages.slice(0, end)).map(said), rebuilt: true, ...(page.next_cursor && { cut: true }) };
}

// said is a message without what is no model's business.
function said({ role, content, tool_calls, tool_result }: Message): JSONValue {
  return JSON.parse(JSON.stringify({ role, content, tool_calls, tool_result }));
}

export function SentView({ record }: { record: RunRecord }) {
  record.version.value;
  const steps = record.steps.map((s) => s.step);
  const step = steps.includes(route.value.step) ? route.value.step : steps.at(-1) ?? 1;
  const [got, setGot] = useState<Request | Error | undefined>(undefined);
  const began = record.steps.find((s) => s.step === step)?.began ?? 0;
  useEffect(() => {
    let late = false;
    setGot(undefined);
    read(record, step).then((v) => !late && setGot(v), (e) => !late && setGot(e));
    return () => void (late = true);
  }, [record.id, step, began > 0]);
  return (
    <div class="pane-body">
      <label class="inline">
        Step{' '}
        <select value={step} onChange={(e) => select({ run: record.id, step: Number(e.currentTarget.value), call: '' })}>
          {steps.map((s) => <option key={s} value={s}>{s}</option>)}
        </select>
      </label>
      {got instanceof Error ? <Problem error={got} /> : got && <Sent request={got} />}
    </div>
  );
}

function Sent({ request }: { request: Request }) {
  const { messages = [], tools = [], rebuilt, cut, ...rest } = request;
  return (
    <>
      {rebuilt && (
        <p class="meta">
          Rebuilt from the messages before this step{cut === true && ' (the newest 200)'}. It lacks additions of plugins, and may have messages that the window omitted.
        </p>
      )}
      {messages.map((m, i) => {
        const { role, content, tool_calls, tool_result } = m as unknown as Message;
        const line = [...(content ?? []).map((b) => b.text ?? b.filename ?? b.type), ...(tool_calls ?? []).map((c) => `${c.name} ${oneLine(c.arguments)}`), oneLine(tool_result?.message ?? tool_result?.data)];
        return (
          <details key={i} class="call" open={i === messages.length - 1}>
            <summary><span class="call-name">{role ?? 'message'}</span><span class="call-line">{line.join(' ')}</span></summary>
            <JSONView value={m} label={`message ${i + 1}`} />
          </details>
        );
      })}
      {messages.length === 0 && <p class="empty">There are no earlier messages.</p>}
      {tools.length > 0 && <details class="call"><summary><span class="call-name">{count(tools.length, 'tool')}</span></summary><JSONView value={tools} label="tools" /></details>}
      {Object.keys(rest).length > 0 && <JSONView value={rest as JSONValue} label="request" />}
    </>
  );
}
