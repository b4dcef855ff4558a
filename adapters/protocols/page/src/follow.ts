// The one reader of runs' streams: it begins, goes on behind what was read, waits longer
// after each failure, and says how it stands.
import { Refused, Unreachable, get, send } from './api';
import { frames } from './frames';
import { RunRecord } from './record';
import { readRun } from './stored';
import type { Run, RunEvent } from './types';

const records = new Map<string, RunRecord>();

// recordOf returns the one record of a run.
export function recordOf(id: string): RunRecord {
  let r = records.get(id);
  if (!r) {
    r = new RunRecord(id);
    records.set(id, r);
  }
  return r;
}

// answered follows a run until it, or the child run that asked, has read an answer. look begins
// to follow it; closed says that the page no longer looks.
export async function answered(record: RunRecord, suspension: string, look = follow, closed = () => false): Promise<void> {
  for (let wait = 100; record.waits(suspension) && wait < 20_000 && !closed(); wait *= 2) {
    await look(record);
    if (record.waits(suspension)) await new Promise((done) => setTimeout(done, wait));
  }
}

const following = new Map<string, { stop: AbortController; end: Promise<void> }>();

const shortest = 250; // milliseconds between two tries
const longest = 5000;
const patience = 2000; // after which a person is told
const hiddenTime = 60_000; // after which a tab that nobody sees listens no more

// follow reads a run's stream to its end, from wherever the record stands. A second call
// while it does so joins the first.
export function follow(record: RunRecord): Promise<void> {
  if (record.complete) return Promise.resolve();
  let f = following.get(record.id);
  if (!f) {
    const stop = new AbortController();
    const end = read(record, stop.signal).finally(() => {
      if (following.get(record.id)?.stop === stop) following.delete(record.id);
    });
    f = { stop, end };
    following.set(record.id, f);
  }
  return f.end;
}

// begin starts a run by a request that streams it. It resolves when the host has accepted
// it, which is its first event; the rest is read on, and whoever follows joins.
export async function begin(body: unknown, key: string): Promise<RunRecord> {
  const stop = new AbortController();
  const response = await send('POST', 'v1/runs', body, { accept: 'text/event-stream, application/json', 'idempotency-key': key }, stop.signal);
  if (!response.headers.get('content-type')?.startsWith('text/event-stream')) {
    const record = recordOf(((await response.json()) as { run_id: string }).run_id); // this door cannot stream
    void follow(record);
    return record;
  }
  return new Promise((accepted, failed) => {
    void (async () => {
      let record: RunRecord | undefined;
      const take = (id: string, e: RunEvent) => {
        if (!record && e.run_id) {
          record = recordOf(e.run_id);
          accepted(record);
          // It is the same request again, or was found among the open runs: it has its own reader.
          if (record.last || following.has(record.id)) throw new Error('known');
          record.connection.value = 'open';
          following.set(record.id, { stop, end: whole });
        }
        record?.add(id, e, true);
      };
      let done!: () => void;
      const whole = new Promise<void>((d) => (done = d));
      try {
        for await (const f of frames(response.body!)) take(f.id, JSON.parse(f.data));
      } catch {
        // a lost connection: the rest comes by following
      }
      if (!record) return failed(new Unreachable('the stream ended before the run began'));
      if (following.get(record.id)?.stop === stop) {
        following.delete(record.id);
        record.connection.value = 'none';
      }
      if (!ended(record) && !stop.signal.aborted) await follow(record);
      else void readRun(record);
      done();
    })();
  });
}

// leave ends the reading of a run that nobody looks at any more: a browser has six
// connections to a host. The run goes on, and whoever follows it again reads the rest.
export function leave(record: RunRecord): void {
  following.get(record.id)?.stop.abort(new Error('left'));
  following.delete(record.id);
  record.connection.value = 'none';
}

// ended says that the stream has told all that there is until somebody acts.
const ended = (r: RunRecord) => r.complete || (r.status === 'waiting' && r.events.at(-1)?.event.event_type === 'run_finish');

async function read(record: RunRecord, stop: AbortSignal): Promise<void> {
  let wait = shortest;
  let since = 0;
  for (;;) {
    const had = record.events.length;
    try {
      const end = await once(record, stop);
      if (end) return;
      wait = shortest; // it yielded: the run goes on elsewhere
      since = 0;
    } catch (e) {
      if (stop.aborted) return;
      if (e instanceof Refused && e.status < 500) {
        record.problem.value = e;
        record.connection.value = 'none';
        return;
      }
      if (record.events.length > had) wait = shortest;
      since ||= Date.now();
      record.connection.value = Date.now() - since > patience ? 'lost' : 'retrying';
      await seen(wait);
      wait = Math.min(longest, wait * 2);
    }
  }
}

// once reads one response. It returns true when there is nothing more to read.
async function once(record: RunRecord, stop: AbortSignal): Promise<boolean> {
  const cut = new AbortController();
  stop.addEventListener('abort', () => cut.abort(stop.reason));
  let hidden = 0;
  const watch = () => {
    clearTimeout(hidden);
    if (document.hidden) hidden = window.setTimeout(() => cut.abort(new Error('hidden')), hiddenTime);
  };
  document.addEventListener('visibilitychange', watch);
  try {
    const headers: Record<string, string> = { accept: 'text/event-stream' };
    if (record.last) headers['last-event-id'] = record.last;
    const asked = Date.now();
    const response = await send('GET', `v1/runs/${record.id}/events/stream`, undefined, headers, cut.signal);
    record.connection.value = 'open';
    record.problem.value = undefined;
    record.children.joined();
    if (response.status === 204) return reload(record);
    for await (const f of frames(response.body!)) {
      const e: RunEvent = JSON.parse(f.data);
      if (e.event_type === 'error' && !e.step) throw new Error(e.error); // of the stream, not of the run
      record.add(f.id, e, e.time !== undefined && Date.parse(e.time) >= asked - 1000);
      if (e.event_type === 'run_yield') return false;
    }
    if (ended(record)) {
      record.connection.value = 'none';
      void readRun(record);
      return true;
    }
    throw new Error('cut');
  } finally {
    clearTimeout(hidden);
    document.removeEventListener('visibilitychange', watch);
  }
}

// reload reads the run itself, when its stream has nothing that is not here.
async function reload(record: RunRecord): Promise<boolean> {
  const run = await get<Run>(`v1/runs/${record.id}`);
  record.status = run.status;
  record.termination = run.termination;
  record.connection.value = 'none';
  record.take(run);
  return true;
}

// seen resolves after a time, and not before somebody looks at the tab again.
function seen(ms: number): Promise<void> {
  return new Promise((done) =>
    setTimeout(() => {
      if (!document.hidden) return done();
      const look = () => {
        if (document.hidden) return;
        document.removeEventListener('visibilitychange', look);
        done();
      };
      document.addEventListener('visibilitychange', look);
    }, ms),
  );
}
