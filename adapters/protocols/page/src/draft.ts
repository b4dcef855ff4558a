// What is written and not sent yet. A draft belongs to its thread, or to its question, and
// survives a look at another one, and a reload of the tab.
import { signal, type Signal } from '@preact/signals';
import type { Block } from './types';

const stored = 'reveille.draft.';

// The draft of a thread that has no message yet.
export const fresh = 'new';

export interface Draft {
  text: Signal<string>;
  files: Signal<Block[]>; // of this document alone: they are too large to keep
}

const drafts = new Map<string, Draft>();

// draftOf is the draft of a thread or of a question.
export function draftOf(name: string): Draft {
  let d = drafts.get(name);
  if (!d) drafts.set(name, (d = { text: signal(sessionStorage.getItem(stored + name) ?? ''), files: signal([]) }));
  return d;
}

// write changes a draft. An empty one is kept nowhere.
export function write(name: string, text: string): void {
  draftOf(name).text.value = text;
  try {
    if (text) sessionStorage.setItem(stored + name, text);
    else sessionStorage.removeItem(stored + name);
  } catch {
    // the store of the tab is full: the draft lasts as long as the document
  }
}

// rename gives a draft to a thread that has got its id.
export function rename(from: string, to: string): void {
  const { text, files } = draftOf(from);
  if (!text.value && !files.value.length) return;
  write(to, text.value);
  draftOf(to).files.value = files.value;
  write(from, '');
  files.value = [];
}
