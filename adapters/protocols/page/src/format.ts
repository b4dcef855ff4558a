// Numbers and times for people.
import type { Usage } from './types';

// duration is a time span: 340 ms, 1.25 s, 2 min 5 s, 3 h 10 min, 2 d 4 h.
export function duration(ms: number): string {
  if (ms < 1000) return `${Math.max(0, Math.round(ms))} ms`;
  if (ms < 60_000) return `${(ms / 1000).toFixed(ms < 10_000 ? 2 : 1)} s`;
  const s = Math.round(ms / 1000);
  if (s < 3600) return `${Math.floor(s / 60)} min${s % 60 ? ` ${s % 60} s` : ''}`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h ${Math.floor((s % 3600) / 60)} min`;
  return `${Math.floor(s / 86_400)} d ${Math.floor((s % 86_400) / 3600)} h`;
}

// took is a time span beside others: < 1 ms, 12 ms, 0.4 s, 31.8 s, 5 min 40 s.
export const took = (ms: number) => (ms < 1 ? '< 1 ms' : ms >= 100 && ms < 60_000 ? `${(ms / 1000).toFixed(1)} s` : duration(ms));

// ago is how long something is past.
export function ago(ms: number, now: number): string {
  const s = Math.max(0, Math.round((now - ms) / 1000));
  if (s < 60) return 'now';
  if (s < 3600) return `${Math.floor(s / 60)} min`;
  if (s < 86_400) return `${Math.floor(s / 3600)} h`;
  return `${Math.floor(s / 86_400)} d`;
}

// One formatter serves all: to make one takes as long as a hundred uses of it.
const numbers = new Intl.NumberFormat();
const clocks = new Intl.DateTimeFormat(undefined, { timeStyle: 'medium' });
const minutes = new Intl.DateTimeFormat(undefined, { hour: '2-digit', minute: '2-digit' });
const moments = new Intl.DateTimeFormat(undefined, { dateStyle: 'medium', timeStyle: 'medium' });

export const number = (n: number) => numbers.format(n);
export const clock = (ms: number) => clocks.format(ms);
export const minute = (ms: number) => minutes.format(ms);
export const moment = (ms: number) => moments.format(ms);

export const count = (n: number, what: string) => `${number(n)} ${what}${n === 1 ? '' : 's'}`;

// tokens says what a call of a model took.
export function tokens(u: Usage | undefined): string {
  if (!u || (!u.input && !u.output)) return '';
  const parts = [`${number(u.input ?? 0)} in`, `${number(u.output ?? 0)} out`];
  if (u.cache_read) parts.push(`${number(u.cache_read)} cached`);
  if (u.reasoning) parts.push(`${number(u.reasoning)} reasoning`);
  return parts.join(' · ');
}

// short is an id as a label.
export const short = (id: string) => (id.length > 12 ? `…${id.slice(-8)}` : id);

// money is an amount of dollars: $0.0312, $4.12, $1,204.00, < $0.0001.
export function money(usd: number): string {
  if (usd > 0 && usd < 0.0001) return '< $0.0001';
  return `$${usd.toLocaleString('en-US', { minimumFractionDigits: 2, maximumFractionDigits: usd >= 1 ? 2 : 4 })}`;
}

// amount is a large number in few digits: 812, 9,204, 82.3 k, 1.06 M.
export function amount(n: number): string {
  if (n < 10_000) return number(n);
  return n < 1_000_000 ? `${(n / 1000).toFixed(n < 100_000 ? 1 : 0)} k` : `${(n / 1_000_000).toFixed(2)} M`;
}
