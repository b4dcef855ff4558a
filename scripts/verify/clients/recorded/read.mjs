// Reads streams with the AI SDK's own packages of providers. Each line of the input is a
// JSON object with name, client, api, model and url; the output is one object with what was
// read by name.
import { createAmazonBedrock } from "@ai-sdk/amazon-bedrock";
import { createAnthropic } from "@ai-sdk/anthropic";
import { createAzure } from "@ai-sdk/azure";
import { createDeepSeek } from "@ai-sdk/deepseek";
import { createGoogleGenerativeAI } from "@ai-sdk/google";
import { createGroq } from "@ai-sdk/groq";
import { createMistral } from "@ai-sdk/mistral";
import { createOpenResponses } from "@ai-sdk/open-responses";
import { createOpenAI } from "@ai-sdk/openai";
import { createOpenAICompatible } from "@ai-sdk/openai-compatible";
import { createPerplexity } from "@ai-sdk/perplexity";
import { createXai } from "@ai-sdk/xai"; // version 3 is the last with Chat Completions
import { readFileSync } from "node:fs";

const apiKey = "no-key";

function open({ client, api, model, url }) {
  const options = { apiKey, baseURL: url };
  const kind = api === "responses" ? "responses" : "chat";
  switch (client) {
    case "amazon-bedrock":
      return createAmazonBedrock({ ...options, region: "us-east-1" })(model);
    case "anthropic":
      return createAnthropic(options)(model);
    case "azure":
      return createAzure(options)[kind](model);
    case "deepseek":
      return createDeepSeek(options)(model);
    case "google":
      return createGoogleGenerativeAI({ ...options, generateId: () => "" })(model); // for calls without an id
    case "groq":
      return createGroq(options)(model);
    case "mistral":
      return createMistral(options)(model);
    case "open-responses":
      return createOpenResponses({ apiKey, name: "open", url: `${url}/responses` })(model);
    case "openai":
      return createOpenAI(options)[kind](model);
    case "openai-compatible":
      return createOpenAICompatible({ ...options, name: "compatible" })(model);
    case "perplexity":
      return createPerplexity(options)(model);
    case "xai":
      return createXai(options)[kind](model);
  }
  throw new Error(`no package for ${client}`);
}

// Packages that report no sources.
const withoutSources = ["amazon-bedrock", "deepseek", "groq", "open-responses", "openai-compatible"];

// found reports whether a source is a page that the provider's search found. The packages
// list these in place of the pages that the text cites.
function found(part, api) {
  const anthropic = part.providerMetadata?.anthropic;
  return anthropic ? !("citedText" in anthropic) : api === "responses" && part.title === undefined;
}

async function read(play) {
  const turn = { text: "", reasoning: "", calls: [], usage: {}, finish: "", failed: false, sources: [] };
  let searched = false;
  let summary; // the item and the part of the last reasoning
  try {
    const { stream } = await open(play).doStream({ prompt: [{ role: "user", content: [{ type: "text", text: "Go on." }] }] });
    for await (const part of stream) {
      switch (part.type) {
        case "text-delta":
          turn.text += part.delta;
          break;
        case "reasoning-start": {
          // Parts of one summary of the Responses API are paragraphs of one reasoning.
          const item = play.api === "responses" && /^(.*):\d+$/.exec(part.id)?.[1];
          if (item && item === summary && !part.id.endsWith(":0")) turn.reasoning += "\n\n";
          summary = item;
          break;
        }
        case "reasoning-delta":
          turn.reasoning += part.delta;
          break;
        case "tool-call":
          if (!part.providerExecuted) turn.calls.push({ id: part.toolCallId, name: part.toolName, arguments: part.input });
          break;
        case "source":
          if (found(part, play.api)) searched = true;
          else if (part.sourceType === "url") turn.sources.push(`${part.url} ${part.title ?? ""}`);
          break;
        case "finish":
          turn.finish = part.finishReason.unified;
          turn.usage = {
            input: part.usage.inputTokens.total ?? 0,
            output: part.usage.outputTokens.total ?? 0,
            cache_read: part.usage.inputTokens.cacheRead ?? 0,
            reasoning: part.usage.outputTokens.reasoning ?? 0,
          };
          break;
        case "error":
          turn.failed = true;
      }
    }
  } catch {
    turn.failed = true; // before the first part
  }
  turn.sources = searched || withoutSources.includes(play.client) ? null : [...new Set(turn.sources)].sort();
  if (turn.failed) turn.finish = "";
  // A turn with calls stops for them, whatever the provider calls it.
  if (turn.finish === "stop" && turn.calls.length > 0) turn.finish = "tool-calls";
  return turn;
}

const all = {};
for (const line of readFileSync(0, "utf8").split("\n")) {
  if (line === "") continue;
  const play = JSON.parse(line);
  all[play.name] = await read(play);
}
console.log(JSON.stringify(all));
