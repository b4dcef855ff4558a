// Reads a run through a connection that breaks once, and prints what the client was shown:
// node resume.mjs CLIENT URL. The server closes the first connection after some words.
import { createServer, request } from 'node:http';
import { once } from 'node:events';

console.error = () => {}; // the polyfill prints each break
const [client, target] = process.argv.slice(2);
const upstream = new URL(target);

// broken cuts the first response of a stream after its third word.
let cut = false;
const requests = [];
const broken = createServer((req, res) => {
  requests.push({ method: req.method, query: new URL(req.url, target).searchParams.has('lastEventId'), header: 'last-event-id' in req.headers, key: req.headers['idempotency-key'] });
  const headers = { ...req.headers, host: upstream.host };
  delete headers.origin;
  const out = request({ host: upstream.hostname, port: upstream.port, path: req.url, method: req.method, headers }, (response) => {
    res.writeHead(response.statusCode, response.headers);
    let seen = '';
    response.on('data', (chunk) => {
      res.write(chunk);
      seen += chunk;
      if (!cut && /"delta":"[^"]*w3/.test(seen)) {
        cut = true;
        response.destroy();
        setTimeout(() => res.destroy(), 20);
      }
    });
    response.on('end', () => res.end());
    response.on('error', () => {});
  });
  out.on('error', () => res.destroy());
  req.pipe(out);
});
broken.listen(0, '127.0.0.1');
await once(broken, 'listening');
const base = `http://127.0.0.1:${broken.address().port}`;

let text = '';
const types = [];
const read = (data) => {
  const event = JSON.parse(data);
  types.push(event.event_type);
  if (event.event_type === 'text_delta') text += event.delta;
  return event.event_type === 'run_finish';
};
const input = { agentId: 'demo', messages: [{ role: 'user', content: 'slow: 30' }] };

if (client === 'event-source-polyfill') {
  globalThis.window = globalThis; // what it looks for in a browser
  globalThis.XMLHttpRequest = undefined;
  const { EventSourcePolyfill } = (await import('event-source-polyfill')).default;
  const stream = await fetch(`${target}/v1/runs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify(input) });
  const reader = stream.body.getReader(); // which goes on reading, as another window of the same run
  const run = new TextDecoder().decode((await reader.read()).value).match(/"run_id":"([^"]+)"/)[1];
  (async () => { while (!(await reader.read()).done); })();
  await new Promise((resolve, reject) => {
    const source = new EventSourcePolyfill(`${base}/v1/runs/${run}/events/stream`, { fetch, Transport: undefined });
    source.onmessage = (m) => { if (read(m.data)) { source.close(); resolve(); } };
    source.onerror = (e) => { if (source.readyState === 2) reject(new Error(`closed: ${e.status ?? ''} ${e.error ?? ''}`)); };
  });
} else {
  globalThis.window = globalThis;
  globalThis.document = { hidden: false, addEventListener() {}, removeEventListener() {} };
  const { fetchEventSource } = await import('@microsoft/fetch-event-source');
  await fetchEventSource(`${base}/v1/runs`, {
    method: 'POST', headers: { 'Content-Type': 'application/json', 'Idempotency-Key': 'one' }, body: JSON.stringify(input), fetch,
    onmessage(m) { if (m.data) read(m.data); },
    onerror() { return 10; },
  });
}
broken.closeAllConnections();
broken.close();
console.log(JSON.stringify({ text, finished: types.filter((t) => t === 'run_finish').length, started: types.filter((t) => t === 'run_start').length, requests }));
process.exit(0);
