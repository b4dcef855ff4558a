// Starts fake model providers (OpenAI chat and Responses, Anthropic, Gemini, Bedrock) on
// one port of the loopback interface (0 or none: a free one), prints its base URL when
// it listens, and ends when its input does.
import { LLMock } from "@copilotkit/aimock";

const mock = new LLMock({ host: "127.0.0.1", port: Number(process.argv[2] ?? 0), strict: true });

mock.onMessage(
  "say hello",
  { content: "Hello from the other side.", usage: { prompt_tokens: 12, completion_tokens: 5 } },
  { chunkSize: 5 },
);

mock.onMessage(
  "call two tools",
  {
    toolCalls: [
      { id: "call_weather", name: "get_weather", arguments: '{"city":"Paris","days":3}' },
      { id: "call_time", name: "get_time", arguments: '{"zone":"Europe/Paris"}' },
    ],
  },
  { chunkSize: 7 },
);

// Without a latency nothing is flushed before the cut.
mock.onMessage(
  "be cut off",
  { content: "This answer never reaches its end." },
  { chunkSize: 5, latency: 20, truncateAfterChunks: 4 },
);

mock.onMessage("think first", { reasoning: "Let me think.", content: "It is done." }, { chunkSize: 6 });

mock.onMessage("echo: tool", { toolCalls: [{ id: "call_1", name: "get_time", arguments: '{"zone":"UTC"}' }] });

mock.onMessage("be limited", {
  status: 429,
  retryAfter: 7,
  error: { message: "Rate limit reached, slow down.", type: "requests", code: "rate_limit_exceeded" },
});

console.log(await mock.start());
process.stdin.resume().on("end", () => process.exit(0));
