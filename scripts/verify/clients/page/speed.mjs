// Compares how fast two bundles of the page open long things, against one host. Arguments:
// the host's address, the folders of the bundles. It prints medians; nothing passes or fails.
import { createServer, request } from 'node:http';
import { readFileSync, writeFileSync } from 'node:fs';
import { launch, report } from './browser.mjs';

const [host, ...folders] = process.argv.slice(2);
const rounds = 5;

const thread = 'long-run';
const run = '019b8e00-0000-7000-8000-00000000000a';
const steps = 417; // of 24 events each
const start = Date.UTC(2026, 0, 5);

// long makes a run of 10,000 events as the host's routes tell it.
function long() {
  const events = [];
  const stored = [];
  const messages = [{ id: 'asked', role: 'user', run_id: run, content: [{ type: 'text', text: 'a long run' }], created_at: start }];
  let at = start;
  const add = (step, place, event) => events.push(`id: ${run}.${step}.1.${place}\ndata: ${JSON.stringify({ sequence: events.length + 1, time: new Date((at += 5)).toISOString(), run_id: run, step, ...event })}\n\n`);
  add(1, '0-0-a', { event_type: 'run_start', thread_id: thread, agent_id: 'demo' });
  for (let step = 1; step <= steps; step++) {
    const s = { step, message_id: `${run}.${step}`, began_at: at, model: 'scripted', stop_reason: 'tool_use', usage: { input: 100, output: 10 }, calls: [], text: 'w1 w2 w3 w4 w5 ' };
    const of = { message_id: s.message_id };
    add(step, '0-0-b', { event_type: 'step_start', ...of });
    for (let i = 1; i <= 5; i++) add(step, `0-${3 * i}-f`, { event_type: 'text_delta', delta: `w${i} `, ...of });
    for (let i = 1; i <= 4; i++) {
      const call = { id: `call_${step}_${i}`, name: 'echo', ...of };
      add(step, `${i}-0-d`, { event_type: 'tool_call_start', ...call });
      add(step, `${i}-13-g`, { event_type: 'tool_call_delta', ...call, delta: '{"text":"abc"}' });
      add(step, `${i}-13-h`, { event_type: 'tool_call_ready', ...call, arguments: { text: 'abc' } });
      s.calls.push({ id: call.id, name: 'echo', arguments: { text: 'abc' }, status: 'ok', result: { text: 'abc' } });
    }
    s.said_at = at;
    add(step, '5-0-i', { event_type: 'inference_complete', model: 'scripted', stop_reason: 'tool_use', usage: s.usage, duration_ms: 80, ...of });
    for (const c of s.calls) {
      add(step, `${s.calls.indexOf(c)}-0-j`, { event_type: 'tool_call_done', ...of, id: c.id, name: 'echo', result: c.result, status: 'ok', duration_ms: 5 });
      Object.assign(c, { began_at: at - 5, ended_at: at, duration_ms: 5 });
    }
    s.ended_at = at;
    if (step < steps) add(step, '9999-0-k', { event_type: 'step_end' });
    else add(step, '9999-0-m', { event_type: 'run_finish', status: 'done', steps, usage: { input: 40_000, output: 4000 }, duration_ms: at - start, termination: { type: 'natural_end' } });
    stored.push(s);
    messages.push({ id: s.message_id, role: 'assistant', run_id: run, step, content: [{ type: 'text', text: s.text }], tool_calls: s.calls.map(({ id, name, arguments: a }) => ({ id, name, arguments: a })), created_at: s.said_at });
    for (const c of s.calls) messages.push({ id: `${c.id}.r`, role: 'tool', run_id: run, step, tool_result: { call_id: c.id, name: 'echo', data: c.result, status: 'ok' }, created_at: s.ended_at });
  }
  const record = { run_id: run, thread_id: thread, agent_id: 'demo', status: 'done', steps, usage: { input: 40_000, output: 4000 }, termination: { type: 'natural_end' }, created_at: start, started_at: start, finished_at: at };
  return { count: events.length, stream: events.join(''), stored, messages: messages.reverse(), record };
}

const made = long();

// answer is the response about the run of 10,000 events, if a path is about it.
function answer(path, query) {
  const json = (body) => ({ kind: 'application/json', body: JSON.stringify(body) });
  const page = (name, all) => {
    const from = Number(query.get('cursor') ?? 0);
    const to = from + Number(query.get('limit') ?? 50);
    return json({ [name]: all.slice(from, to), has_more: to < all.length, next_cursor: to < all.length ? String(to) : null });
  };
  switch (path) {
    case `/v1/runs/${run}`:
      return json(made.record);
    case `/v1/runs/${run}/events/stream`:
      return { kind: 'text/event-stream', body: made.stream };
    case `/v1/runs/${run}/steps`:
      return page('steps', made.stored);
    case `/v1/threads/${thread}`:
      return json({ thread_id: thread, agent_id: 'demo', queued: 0, messages: made.messages.length, active_run: null });
    case `/v1/threads/${thread}/messages`:
      return page('messages', made.messages);
    case `/v1/threads/${thread}/runs/active`:
      return json({ active_run: null });
  }
  return undefined;
}

// serve serves a bundle, the long run, and for the rest the host.
function serve(folder) {
  const bundle = { '/page/main.js': ['text/javascript', readFileSync(`${folder}/main.js`)], '/page/style.css': ['text/css', readFileSync(`${folder}/style.css`)] };
  const document = '<!doctype html><html lang="en"><meta charset="utf-8"><title>Reveille</title><link rel="stylesheet" href="page/style.css"><script type="module" src="page/main.js"></script><body></body></html>';
  const server = createServer((from, to) => {
    const { pathname, searchParams } = new URL(from.url, 'http://h');
    const end = (kind, body) => to.writeHead(200, { 'content-type': kind, 'cache-control': 'no-store' }).end(body);
    if (pathname === '/') return end('text/html', document);
    if (bundle[pathname]) return end(...bundle[pathname]);
    const own = answer(pathname, searchParams);
    if (own) return end(own.kind, own.body);
    from.pipe(request(host + from.url, { method: from.method, headers: from.headers }, (r) => r.pipe(to.writeHead(r.statusCode, r.headers)))).on('error', () => to.destroy());
  });
  return new Promise((done) => server.listen(0, '127.0.0.1', () => done({ url: `http://127.0.0.1:${server.address().port}`, close: () => server.close() })));
}

// talk makes a thread of 100 runs on the host.
async function talk() {
  const id = `hundred-${Date.now()}`;
  for (let i = 1; i <= 100; i++) {
    const response = await fetch(`${host}/v1/runs`, { method: 'POST', headers: { 'content-type': 'application/json' }, body: JSON.stringify({ threadId: id, messages: [{ role: 'user', content: `echo: number ${i}` }] }) });
    await response.text();
  }
  return id;
}

// until opens an address and returns the milliseconds until a test, which runs in the page
// before each paint, is true, and how long the page was blocked meanwhile.
async function until(browser, url, test) {
  const context = await browser.newContext({ viewport: { width: 1440, height: 900 } });
  const page = await context.newPage();
  await page.addInitScript(`{
    let blocked = 0;
    new PerformanceObserver((l) => l.getEntries().forEach((e) => (blocked += e.duration))).observe({ type: 'longtask', buffered: true });
    const test = ${test};
    const look = () => (document.body && test() ? requestAnimationFrame(() => setTimeout(() => (window.took = [performance.now(), blocked]))) : requestAnimationFrame(look));
    requestAnimationFrame(look);
  }`);
  const profile = process.env.PROFILE && (await context.newCDPSession(page));
  if (profile) {
    await profile.send('Profiler.enable');
    await profile.send('Profiler.start');
  }
  await page.goto(url);
  await page.waitForFunction(() => window.took, undefined, { timeout: 60_000 });
  const took = await page.evaluate(() => window.took);
  if (profile) writeFileSync(`${process.env.PROFILE}/${encodeURIComponent(url)}.cpuprofile`, JSON.stringify((await profile.send('Profiler.stop')).profile));
  await context.close();
  return took;
}

const median = (all) => Math.round([...all].sort((a, b) => a - b)[Math.floor(all.length / 2)]);

await report({
  speed: async () => {
    const browser = await launch();
    const pages = await Promise.all(folders.map(serve));
    const hundred = await talk();
    const things = {
      [`${made.count} events, their list`]: [`#/t/${thread}/r/${run}?tab=events`, `() => document.querySelector('[role=tabpanel]')?.textContent.includes('${made.count.toLocaleString('en')} events')`],
      [`${made.count} events, the timeline`]: [`#/t/${thread}/r/${run}?tab=timeline`, `() => { const g = document.querySelector('[role=treegrid]'); return g && (Number(g.ariaRowCount) >= ${2 + 6 * steps - 1} || g.parentElement.textContent.includes('${(1 + 6 * steps - 200).toLocaleString('en')} more rows')); }`],
      'a thread of 100 runs': [`#/t/${hundred}`, `() => document.querySelector('[role=log]')?.textContent.includes('Echo: number 100')`],
    };
    for (const [name, [hash, test]] of Object.entries(things)) {
      const took = folders.map(() => []);
      const blocked = folders.map(() => []);
      for (let i = 0; i < rounds; i++) {
        for (const [j, { url }] of pages.entries()) {
          const [ms, busy] = await until(browser, `${url}/${hash}`, test);
          took[j].push(ms);
          blocked[j].push(busy);
        }
      }
      console.error(`${name}: ${['before', 'now'].map((word, j) => `${word} ${median(took[j])} ms (blocked ${median(blocked[j])} ms)`).join(', ')}`);
    }
    for (const p of pages) p.close();
    await browser.close();
  },
});
