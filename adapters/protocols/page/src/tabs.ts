// The tabs of one browser tell each other what they have changed, so that two of them
// agree at once and not only when each reads its lists again.
import { changed, type Change } from './api';

const channel = new BroadcastChannel(`reveille ${location.pathname}`);

changed.tell = (c) => channel.postMessage(c);

// tell says that something is different now, such as the state of a run, without a request
// of this tab.
export const tell = (path: string) => channel.postMessage({ method: '', path } satisfies Change);

// hear calls a function for each change that another tab has made. It returns how to end
// that.
export function hear(f: (c: Change) => void): () => void {
  const take = (e: MessageEvent<Change>) => f(e.data);
  channel.addEventListener('message', take);
  return () => channel.removeEventListener('message', take);
}
