// JSON Patch (RFC 6902), and what differs between two values.
import type { JSONValue } from './types';

export interface Operation {
  op: string;
  path: string;
  from?: string;
  value?: JSONValue;
}

type Container = { [key: string]: JSONValue } | JSONValue[];

// shared are the names by which an object reaches what it shares with others. The page
// shows no value under them.
const shared = ['__proto__', 'constructor', 'prototype'];

const clone = (v: JSONValue): JSONValue => (v === undefined ? null : structuredClone(v));
const isContainer = (v: JSONValue): v is Container => typeof v === 'object' && v !== null;

// pointer splits an RFC 6901 pointer.
const pointer = (path: string) => path.split('/').slice(1).map((p) => p.replace(/~1/g, '/').replace(/~0/g, '~'));

// apply returns what a patch makes of a value, which stays as it is. An operation that
// does not fit is left out: what the host committed did fit, so something is missing here
// that the next snapshot brings.
export function apply(value: JSONValue, patch: Operation[]): JSONValue {
  const root: { [key: string]: JSONValue } = { root: clone(value) };
  for (const o of patch) {
    switch (o.op) {
      case 'add':
      case 'replace':
        put(root, o.path, clone(o.value ?? null), o.op === 'add');
        break;
      case 'remove':
        take(root, o.path);
        break;
      case 'move':
        put(root, o.path, take(root, o.from ?? ''), true);
        break;
      case 'copy':
        put(root, o.path, clone(read(root, o.from ?? '')), true);
    }
  }
  return root.root;
}

// place finds the container of a path, and the name in it. A path goes only through what
// the value itself has: __proto__ and constructor are names of every object, and would
// lead to what all objects of the page share.
function place(root: { [key: string]: JSONValue }, path: string): [Container, string] | undefined {
  const parts = ['root', ...pointer(path)];
  const last = parts.pop()!;
  let at: JSONValue = root;
  for (const p of parts) {
    if (!isContainer(at) || !Object.hasOwn(at, p)) return undefined;
    at = (at as { [key: string]: JSONValue })[p];
  }
  if (shared.includes(last)) return undefined;
  return isContainer(at) ? [at, last] : undefined;
}

function read(root: { [key: string]: JSONValue }, path: string): JSONValue {
  const at = place(root, path);
  return at && Object.hasOwn(at[0], at[1]) ? (at[0] as { [key: string]: JSONValue })[at[1]] : null;
}

function put(root: { [key: string]: JSONValue }, path: string, value: JSONValue, insert: boolean): void {
  const at = place(root, path);
  if (!at) return;
  const [container, key] = at;
  if (!Array.isArray(container)) container[key] = value;
  else if (key === '-') container.push(value);
  else container.splice(Number(key), insert ? 0 : 1, value);
}

function take(root: { [key: string]: JSONValue }, path: string): JSONValue {
  const at = place(root, path);
  if (!at) return null;
  const [container, key] = at;
  if (Array.isArray(container)) return container.splice(Number(key), 1)[0] ?? null;
  if (!Object.hasOwn(container, key)) return null;
  const value = container[key];
  delete container[key];
  return value ?? null;
}

// Line is one line of two texts laid beside each other.
export interface Line {
  sign: ' ' | '+' | '-';
  text: string;
}

// lines compares two values by the lines of their JSON: what begins and ends alike is cut
// off first, and what is then left over a size is shown as taken out and put in.
export function lines(before: JSONValue, after: JSONValue): Line[] {
  const a = JSON.stringify(before, null, 2).split('\n');
  const b = JSON.stringify(after, null, 2).split('\n');
  let start = 0;
  while (start < a.length && start < b.length && a[start] === b[start]) start++;
  let end = 0;
  while (end < a.length - start && end < b.length - start && a[a.length - 1 - end] === b[b.length - 1 - end]) end++;
  const x = a.slice(start, a.length - end);
  const y = b.slice(start, b.length - end);
  const same = (text: string): Line => ({ sign: ' ', text });
  return [...a.slice(0, start).map(same), ...middle(x, y), ...a.slice(a.length - end).map(same)];
}

function middle(x: string[], y: string[]): Line[] {
  const out = (text: string): Line => ({ sign: '-', text });
  const into = (text: string): Line => ({ sign: '+', text });
  if (x.length * y.length > 1_000_000) return [...x.map(out), ...y.map(into)];
  const common: number[][] = Array.from({ length: x.length + 1 }, () => new Array(y.length + 1).fill(0));
  for (let i = x.length - 1; i >= 0; i--)
    for (let j = y.length - 1; j >= 0; j--) common[i][j] = x[i] === y[j] ? common[i + 1][j + 1] + 1 : Math.max(common[i + 1][j], common[i][j + 1]);
  const all: Line[] = [];
  let i = 0;
  let j = 0;
  while (i < x.length || j < y.length) {
    if (i < x.length && j < y.length && x[i] === y[j]) {
      all.push({ sign: ' ', text: x[i] });
      i++;
      j++;
    } else if (j >= y.length || (i < x.length && common[i + 1][j] >= common[i][j + 1])) all.push(out(x[i++]));
    else all.push(into(y[j++]));
  }
  return all;
}
