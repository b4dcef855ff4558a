// A run as a host tells it, with everything in it that a waterfall shows: failed calls of a
// model, a host that ended, a child run, a long wait for a person, changed arguments, and a
// call that failed. route lets a page read it from a host that has no such run.
const start = Date.UTC(2026, 0, 5, 14, 20);
const at = (seconds) => start + Math.round(seconds * 1000);

export const run = '019b8e00-0000-7000-8000-000000000001';
export const child = '019b8e00-0000-7000-8000-000000000002';
export const thread = 'recorded';

const wait = 340; // seconds, for a person

const call = (id, name, began, ended, more = {}) => ({
  id, name, arguments: {}, status: 'ok', result: {}, began_at: at(began), ended_at: at(ended), duration_ms: Math.round((ended - began) * 1000), ...more,
});

const step = (number, began, first, said, ended, more = {}) => ({
  step: number, message_id: `${run}.${number}`, began_at: at(began), said_at: at(said), ended_at: at(ended), first_at: at(first), model: 'desk-large', stop_reason: 'tool_use',
  usage: { input: 3724, output: 118, cache_read: 1520 }, duration_ms: Math.round((said - began) * 1000), queued_ms: 200, attempts: [{ began_at: at(began), first_at: at(first), ended_at: at(said), model: 'desk-large' }], ...more,
});

export const steps = [
  step(1, 0.3, 1.1, 2.1, 4, { calls: [call('call_1_0', 'find_order', 2.1, 2.5), call('call_1_1', 'stock_level', 2.1, 2.8), call('call_1_2', 'search_help', 2.1, 4)] }),
  step(2, 4.2, 6.6, 8.8, 15.2, {
    retries: 1,
    attempts: [{ began_at: at(4.2), ended_at: at(5.2), reason: 'overloaded', wait_ms: 500, model: 'desk-large' }, { began_at: at(5.7), first_at: at(6.6), ended_at: at(8.8), model: 'desk-large' }],
    calls: [call('call_2_0', 'ask_refunds', 8.8, 15.2, { duration_ms: 0, began_at: undefined, child: { run_id: child, thread_id: 'recorded-child', agent_id: 'refunds' } })],
  }),
  step(3, 15.4, 16.1, 18, 18 + wait + 1.1, {
    revision: 3,
    calls: [call('call_3_0', 'refund_order', 18 + wait, 19.1 + wait, {
      arguments: { order: '88-1042', amount: 64.9, note: 'broken lamp' }, edited: { order: '88-1042', amount: 44.9, note: 'broken lamp' }, result: { refund: 'rf_20817', state: 'sent' },
      asked_at: at(18), answered_at: at(18 + wait), action: 'resume', decision_id: 'decision-1',
    })],
  }),
  step(4, 19.3 + wait, 20.1 + wait, 21.6 + wait, 27.6 + wait, {
    calls: [call('call_4_0', 'scan_batch', 21.6 + wait, 27.6 + wait), call('call_4_1', 'notify_packers', 21.6 + wait, 22.8 + wait, { status: 'error', is_error: true, result: { error: 'no such channel' } })],
  }),
  step(5, 27.8 + wait, 28.6 + wait, 31.8 + wait, 31.8 + wait, { stop_reason: 'end_turn', text: 'The refund is on its way.' }),
];

export const childSteps = [
  { ...step(1, 9, 9.4, 10.4, 11.1, { calls: [call('call_1_0', 'refund_rules', 10.4, 11.1)] }), model: 'desk-small' },
  {
    ...step(2, 13.8, 14.2, 15.2, 15.2), model: 'desk-small', stop_reason: 'end_turn', text: 'Refund 44.90.', takeovers: [{ lost_at: at(12.9), began_at: at(13.8) }],
    attempts: [{ began_at: at(11.3), first_at: at(11.7), ended_at: at(12.9), model: 'desk-small', reason: 'lost' }, { began_at: at(13.8), first_at: at(14.2), ended_at: at(15.2), model: 'desk-small' }],
  },
];

export const record = {
  run_id: run, thread_id: thread, agent_id: 'desk', status: 'done', steps: 5, calls: 8, usage: { input: 18204, output: 1370, cache_read: 7600 }, response: 'The refund is on its way.',
  termination: { type: 'natural_end' }, created_at: at(0.1), started_at: at(0.3), finished_at: at(31.8 + wait), worked_ms: 31500, waited_ms: wait * 1000, cost_usd: 0.0741, takeovers: 0,
  thread_title: 'Parcel 88-1042 arrived damaged', asked: 'Order 88-1042 arrived with a broken lamp.', first_seq: 1,
};

const childRecord = {
  run_id: child, thread_id: 'recorded-child', agent_id: 'refunds', status: 'done', steps: 2, calls: 1, usage: { input: 1200, output: 80 }, termination: { type: 'natural_end' },
  created_at: at(8.8), started_at: at(9), finished_at: at(15.2), worked_ms: 6200, waited_ms: 0, takeovers: 1, parent: { thread_id: thread, run_id: run, tool_call_id: 'call_2_0' },
};

const text = (role, words) => ({ role, content: [{ type: 'text', text: words }] });

export const request = {
  run_id: run, step: 3, provider: 'anthropic-eu', model: 'desk-large', system: 'You settle cases of the Fernhill support desk. Look before you pay. Never refund more than the order cost.',
  tools: ['find_order', 'stock_level', 'search_help', 'refund_order', 'scan_batch', 'notify_packers'].map((name) => ({ name, description: `The tool ${name}.`, parameters: { type: 'object', properties: {} } })),
  messages: [
    text('user', 'Summary of messages 1 to 14: the customer asked twice about a lamp.'), text('user', 'Order 88-1042 arrived with a broken lamp.'),
    { role: 'assistant', content: [], tool_calls: [{ id: 'call_1_0', name: 'find_order', arguments: {} }, { id: 'call_1_1', name: 'stock_level', arguments: {} }, { id: 'call_1_2', name: 'search_help', arguments: {} }] },
    ...['find_order', 'stock_level', 'search_help'].map((name, i) => ({ role: 'tool', tool_result: { call_id: `call_1_${i}`, name, data: { found: true } } })),
  ],
  options: { max_tokens: 2048, temperature: 0.2 }, window: { limit: 8000, estimate: 3724, tokens: 3724, omitted: 14, omitted_tokens: 6930, shortened: 2, summary: true },
  tokens: { system: 412, tools: 1108, messages: 2204 }, hash: '0123456789abcdef0123456789abcdef',
};

// route answers the requests of a page about the run. refused is the response to the one
// for a request as sent, if that is not shown.
export async function route(page, refused) {
  const json = (pattern, body) => page.route(pattern, (r) => r.fulfill({ json: body }));
  for (const [id, of, list] of [[run, record, steps], [child, childRecord, childSteps]]) {
    await json(new RegExp(`/v1/runs/${id}$`), of);
    await json(new RegExp(`/v1/runs/${id}/steps(\\?|$)`), { run_id: id, thread_id: of.thread_id, steps: list, has_more: false, next_cursor: null, limit: 200 });
    await page.route(new RegExp(`/v1/runs/${id}/events/stream`), (r) => r.fulfill({ status: 204 }));
  }
  await page.route(/\/steps\/\d+\/request$/, (r) => r.fulfill(refused ?? { json: request }));
  await json(/\/v1\/threads\/recorded\/messages/, { messages: request.messages.slice(0, 2).map((m, i) => ({ ...m, id: `m${i}`, run_id: run })), next_cursor: null });
  await json(/\/v1\/threads\/recorded\/state\/patches/, {
    patches: [{ revision: 3, run_id: run, step: 3, at: at(19 + wait), patch: [{ op: 'add', path: '/thread/case', value: { status: 'settled', refund: 'rf_20817' } }] }], has_more: false, next_cursor: null,
  });
}
