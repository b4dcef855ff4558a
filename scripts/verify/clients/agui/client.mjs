// What an application does with HttpAgent, over one of the installed packages.

/** Opens the package and returns a function that makes agents. */
export async function open(name, base) {
  const { HttpAgent } = await import(name);
  return (threadId, options = {}) => {
    const { path = '/v1/ag-ui/run', ...rest } = options;
    return new HttpAgent({ url: base + path, threadId, ...rest });
  };
}

/** Adds a message of the person and runs the agent; returns what happened. */
export async function say(agent, id, text, parameters = {}) {
  if (text !== undefined) agent.addMessage({ id, role: 'user', content: text });
  return run(agent, parameters);
}

/** Runs the agent and notes the events, as their types, and how the run ended. */
export async function run(agent, parameters = {}) {
  const seen = { types: [], outcome: undefined, error: undefined, states: [] };
  const { newMessages } = await agent.runAgent(parameters, {
    onEvent: ({ event }) => {
      if (seen.types.at(-1) !== event.type) seen.types.push(event.type);
    },
    onRunFinishedEvent: ({ event }) => { seen.outcome = event.outcome; },
    onRunErrorEvent: ({ event }) => { seen.error = { message: event.message, code: event.code }; },
    onStateChanged: ({ state }) => { seen.states.push(structuredClone(state)); },
  });
  return { ...seen, newMessages };
}

/** Messages without ids, which the server and the client make. */
export const plain = messages => messages.map(m => ({
  role: m.role,
  ...(m.content !== undefined && m.content !== '' && { content: m.content }),
  ...(m.toolCalls && { calls: m.toolCalls.map(c => `${c.function.name} ${c.function.arguments}`) }),
}));

/** The thread as the server has it. */
export async function stored(base, thread) {
  const response = await fetch(`${base}/v1/ag-ui/threads/${encodeURIComponent(thread)}/messages`);
  return (await response.json()).messages;
}

/** A warning of the client is a failure: it has met something that it does not know. */
export function strict() {
  console.warn = (...words) => {
    console.error('client warning:', ...words);
    process.exit(1);
  };
}
