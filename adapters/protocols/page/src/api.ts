// The one place that sends requests. Addresses are relative to the document, so that the
// page works behind any path.
import { signal } from '@preact/signals';

// A refusal of the host: {"error", "code"} and the status that it came with.
export class Refused extends Error {
  constructor(readonly status: number, readonly code: string, text: string) {
    super(text);
  }
}

// The host did not respond at all.
export class Unreachable extends Error {}

const base = location.pathname.replace(/[^/]*$/, '');

// absolute is the address of a route for other programs, such as curl.
export const absolute = (path: string) => location.origin + base + path.replace(/^\//, '');

const stored = 'reveille.token';

// token is what a host with authentication wants in every request; it is kept for as long
// as the tab is.
export const token = sessionStorage.getItem(stored) ?? '';
// locked says that the host has refused for want of a token.
export const locked = signal(false);

// reached says whether the host responded to the last request.
export const reached = signal(true);

// reachedAgain resolves once the host has responded to a request.
export function reachedAgain(): Promise<void> {
  return new Promise((done) => {
    const end = reached.subscribe((yes) => {
      if (!yes) return;
      queueMicrotask(() => end());
      done();
    });
  });
}

// A Change is a request that has changed something. Others of this browser's tabs hear of
// it, so that they show the same within a moment.
export interface Change {
  method: string;
  path: string;
  suspension?: string; // of a decision
}

// changed is called after each change that this tab has made; tabs.ts sets it.
export const changed: { tell?: (c: Change) => void } = {};

// unlock takes a token, and begins anew with it.
export function unlock(text: string): void {
  sessionStorage.setItem(stored, text.trim());
  location.reload();
}

// send makes a request. It rejects with Refused, with Unreachable, or with the reason of
// an abort.
export async function send(method: string, path: string, body?: unknown, headers: Record<string, string> = {}, signal?: AbortSignal): Promise<Response> {
  const all: Record<string, string> = { ...headers };
  if (method !== 'GET') all['content-type'] = 'application/json';
  if (token) all['authorization'] = `Bearer ${token}`;
  let response: Response;
  try {
    response = await fetch(base + path.replace(/^\//, ''), {
      method, headers: all, signal, cache: 'no-store', body: body === undefined ? undefined : JSON.stringify(body),
    });
  } catch (e) {
    if (signal?.aborted) throw signal.reason;
    reached.value = false;
    throw new Unreachable(String(e));
  }
  reached.value = true;
  if (response.ok) {
    if (method !== 'GET') changed.tell?.({ method, path, suspension: (body as { suspension_id?: string } | undefined)?.suspension_id });
    return response;
  }
  throw await refusal(response);
}

async function refusal(response: Response): Promise<Refused> {
  if (response.status === 401) locked.value = true;
  const text = await response.text();
  try {
    const problem = JSON.parse(text);
    return new Refused(response.status, String(problem.code ?? 'unknown'), String(problem.error ?? text));
  } catch {
    return new Refused(response.status, 'unknown', text || `status ${response.status}`);
  }
}

// call is send for a JSON response; undefined when there is no body.
export async function call<T>(method: string, path: string, body?: unknown, headers?: Record<string, string>): Promise<T> {
  const response = await send(method, path, body, headers);
  const text = await response.text();
  return (text ? JSON.parse(text) : undefined) as T;
}

export const get = <T>(path: string) => call<T>('GET', path);

// offered is get for a route that not every host has: undefined where there is none.
export async function offered<T>(path: string): Promise<T | undefined> {
  try {
    return await get<T>(path);
  } catch (e) {
    if (e instanceof Refused && (e.status === 404 || e.status === 405)) return undefined;
    throw e;
  }
}

// query makes the part of an address behind the question mark, of what is not empty.
export function query(values: Record<string, string | number | undefined>): string {
  const q = new URLSearchParams();
  for (const [name, value] of Object.entries(values)) if (value !== undefined && value !== '') q.set(name, String(value));
  const text = q.toString();
  return text ? `?${text}` : '';
}

export const segment = encodeURIComponent;

// newID makes the id of a message, a thread, a decision or a request. crypto.randomUUID
// exists at secure addresses alone, and a host may be reached by the name of a machine.
export function newID(): string {
  const bytes = crypto.getRandomValues(new Uint8Array(16));
  bytes[6] = (bytes[6] & 0x0f) | 0x40;
  bytes[8] = (bytes[8] & 0x3f) | 0x80;
  const hex = Array.from(bytes, (b) => b.toString(16).padStart(2, '0')).join('');
  return [hex.slice(0, 8), hex.slice(8, 12), hex.slice(12, 16), hex.slice(16, 20), hex.slice(20)].join('-');
}
