// Drives a server with a real MCP client and prints, as one line of JSON, what the
// client saw: the version that it came to, the tools, the progress of a call, and what
// each call returned, with a run that waits, is approved over HTTP and asked again.
//
//   node call.mjs <base-url> <sdk|client|client-legacy>
//
// Exits non-zero when the client reports an error.
const [base, name] = process.argv.slice(2);
if (!base || !name) {
  console.error('usage: node call.mjs <base-url> <sdk|client|client-legacy>');
  process.exit(2);
}

/** Opens a client of the package, connected. */
async function open() {
  const url = new URL(`${base}/v1/mcp`);
  const options = { requestInit: { headers: { 'x-tenant': 'acme' } } };
  const about = { name: 'reveille-test', version: '1' };
  if (name === 'sdk') {
    const { Client } = await import('@modelcontextprotocol/sdk/client/index.js');
    const { StreamableHTTPClientTransport } = await import('@modelcontextprotocol/sdk/client/streamableHttp.js');
    const client = new Client(about);
    const transport = new StreamableHTTPClientTransport(url, options);
    await client.connect(transport);
    return { client, version: transport.protocolVersion, call: (tool, rest) => client.callTool(tool, undefined, rest) };
  }
  const { Client, StreamableHTTPClientTransport } = await import('@modelcontextprotocol/client');
  const client = new Client(about, { versionNegotiation: { mode: name === 'client' ? 'auto' : 'legacy' } });
  await client.connect(new StreamableHTTPClientTransport(url, options));
  return { client, version: client.getNegotiatedProtocolVersion(), call: (tool, rest) => client.callTool(tool, rest) };
}

/** What of a result is the same in every run of this script. */
const seen = result => ({
  text: result.content[0].text.replaceAll(/[0-9a-f]{8}-[0-9a-f-]{27}/g, 'ID'),
  isError: result.isError ?? false,
  status: result.structuredContent.status,
});

const { client, version, call } = await open();
const { tools } = await client.listTools();
const progress = [];
const echoed = await call(
  { name: 'demo', arguments: { message: 'echo: hello' } },
  { onprogress: p => progress.push(p.message.replace(/ .*-.*/, ' ID')) },
);
const waiting = await call({ name: 'danger', arguments: { text: 'ship it' } });
const [ticket] = waiting.structuredContent.tickets;
const decided = await fetch(base + ticket.decide.path, {
  method: ticket.decide.method,
  headers: { 'content-type': 'application/json', 'x-tenant': 'acme' },
  body: JSON.stringify(ticket.decide.body),
});
const later = await call({ name: 'get_run', arguments: { run_id: waiting.structuredContent.run_id } });
const failed = await call({ name: 'demo', arguments: { message: 'fail' } });
let unknown = '';
try {
  await call({ name: 'nothing', arguments: {} });
} catch (error) {
  unknown = error.code;
}
await client.close();
console.log(JSON.stringify({
  version,
  tools: tools.map(tool => tool.name),
  progress,
  echoed: seen(echoed),
  waiting: { ...seen(waiting), text: undefined, tool: ticket.tool_name, arguments: ticket.arguments },
  decided: decided.status,
  later: seen(later),
  failed: seen(failed),
  unknown,
}));
