// What useChat does, without React, over one of the installed packages.

/** Opens the package and returns its exports with a chat class of its own. */
export async function open(name) {
  const ai = await import(name);
  return { ...ai, Chat: chatOf(ai.AbstractChat) };
}

/** Plain state under the client's own chat. */
const chatOf = AbstractChat => class extends AbstractChat {
  constructor({ messages = [], ...options }) {
    super({
      ...options,
      state: {
        status: 'ready',
        error: undefined,
        messages,
        pushMessage(message) { this.messages = [...this.messages, message]; },
        popMessage() { this.messages = this.messages.slice(0, -1); },
        replaceMessage(index, message) { this.messages = this.messages.with(index, message); },
        snapshot: value => structuredClone(value),
      },
    });
  }
};

/** Ends the process when the client reports what should not be. */
export function fail(text) {
  console.error(`client error: ${text}`);
  process.exit(1);
}

/** The stored messages of a chat, which must pass the client's own check. */
export async function stored(base, id, validateUIMessages) {
  const response = await fetch(`${base}/v1/ai-sdk/threads/${encodeURIComponent(id)}/messages`);
  const { messages } = await response.json();
  await validateUIMessages({ messages });
  return messages;
}
