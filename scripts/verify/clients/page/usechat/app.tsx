// An app on another origin: the code of useChat in adapters/protocols/aisdk/README.md, and as
// much around it as it takes to use it.
import { useChat } from '@ai-sdk/react';
import { DefaultChatTransport, lastAssistantMessageIsCompleteWithApprovalResponses } from 'ai';
import { useState } from 'react';
import { createRoot } from 'react-dom/client';

declare const HOST: string;

function Chat({ id, stored }: { id: string; stored: never[] }) {
  const [text, setText] = useState('');
  README;
  return (
    <main>
      {messages.map((m) => (
        <article key={m.id} aria-label={m.role} id={m.id}>
          {m.parts.map((p: any, i: number) => {
            if (p.type === 'text') return <p key={i}>{p.text}</p>;
            if (p.state === 'approval-requested') return <button key={i} onClick={() => addToolApprovalResponse({ id: p.approval.id, approved: true })}>Approve {p.input.text}</button>;
            return p.toolCallId ? <p key={i}>{`${p.type} ${p.state} ${JSON.stringify(p.output ?? null)}`}</p> : null;
          })}
        </article>
      ))}
      <form onSubmit={(e) => (e.preventDefault(), void sendMessage({ text }), setText(''))}>
        <input aria-label="Message" value={text} onChange={(e) => setText(e.target.value)} />
      </form>
    </main>
  );
}

const id = location.hash.slice(1);
const response = await fetch(`${HOST}/v1/ai-sdk/threads/${id}/messages`);
const { messages: stored } = response.ok ? await response.json() : { messages: [] };
createRoot(document.body).render(<Chat id={id} stored={stored} />);
