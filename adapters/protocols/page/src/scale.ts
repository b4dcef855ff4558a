// Where a moment is on the width of the timeline. Times in which nothing works, such as a
// wait for a person, are folded to a short break, so that work is seen beside what lasted
// for days.
import { union } from './timed';

export type Span = [from: number, to: number]; // unix milliseconds

export const fold = 28; // pixels of a break
// A wait is folded if it takes more than a share of the work, another time without work if
// it takes half as long; neither if it is short.
const least = { wait: { share: 0.06, ms: 1000 }, other: { share: 0.5, ms: 5000 } };

// Place is a place on the width: a part of what the breaks leave, and how many breaks come
// before it.
export interface Place {
  part: number;
  breaks: number;
}

export interface Tick {
  left: string;
  label: string;
  late: boolean; // its label needs more width than a narrow screen has there
}

export class Scale {
  readonly breaks: Span[] = [];
  readonly start: number;
  readonly end: number;
  readonly worked: number; // milliseconds that are drawn to scale
  readonly folded: boolean; // there is something to fold

  // work are the times in which something works, waits those for people.
  constructor(work: Span[], waits: Span[], truly: boolean) {
    const all = [...work, ...waits].filter(([a]) => a > 0);
    this.start = all.length ? Math.min(...all.map(([a]) => a)) : 0;
    this.end = Math.max(this.start + 1, ...all.map(([, b]) => b));
    const busy = union(work.filter(([a]) => a > 0));
    const sum = Math.max(1, busy.reduce((n, [a, b]) => n + b - a, 0));
    const waiting = union(waits);
    let at = this.start;
    const breaks: Span[] = [];
    for (const [a, b] of [...busy, [this.end, this.end] as Span]) {
      if (a > at) {
        const among = waiting.filter(([from, to]) => from < a && to > at).map(([from, to]): Span => [Math.max(from, at), Math.min(to, a)]);
        const gaps = among.length ? among : [[at, a] as Span];
        const { share, ms } = among.length ? least.wait : least.other;
        breaks.push(...gaps.filter(([from, to]) => to - from > Math.max(ms, sum * share)));
      }
      at = Math.max(at, b);
    }
    this.folded = breaks.length > 0;
    if (!truly) this.breaks = breaks;
    this.worked = Math.max(1, this.end - this.start - this.breaks.reduce((n, [a, b]) => n + b - a, 0));
  }

  // at is the place of a moment.
  at(t: number): Place {
    let before = Math.min(Math.max(t, this.start), this.end) - this.start;
    let breaks = 0;
    for (const [a, b] of this.breaks) {
      const passed = Math.min(Math.max(t - a, 0), b - a);
      before -= passed;
      breaks += passed / (b - a);
    }
    return { part: before / this.worked, breaks };
  }

  // left is the distance of a moment from the left side, for a style.
  left(t: number): string {
    const { part, breaks } = this.at(t);
    return this.length(part, breaks);
  }

  // width is that from one moment to another.
  width(from: number, to: number): string {
    const a = this.at(from);
    const b = this.at(Math.max(from, to));
    return this.length(b.part - a.part, b.breaks - a.breaks);
  }

  private length(part: number, breaks: number): string {
    const percent = `${round(part * 100)}%`;
    const all = this.breaks.length;
    if (!all) return percent;
    return `calc(${percent} + ${round((breaks - part * all) * fold)}px)`;
  }

  // ticks are the marks of the axis, of which at most a number fit: the time that was
  // worked until each, without what is folded.
  ticks(most: number): Tick[] {
    const step = steps.find((s) => this.worked / s <= most) ?? Math.ceil(this.worked / most / day) * day;
    const all: Tick[] = [];
    for (let w = 0; w <= this.worked * 0.95; w += step) {
      let breaks = 0;
      let before = 0;
      for (const [a, b] of this.breaks) {
        if (a - this.start - before < w) breaks++;
        before += b - a;
      }
      all.push({ left: this.length(w / this.worked, breaks), label: label(w, step), late: w > this.worked * 0.8 });
    }
    return all;
  }
}

const round = (n: number) => Math.round(n * 1000) / 1000;

const second = 1000;
const minute = 60 * second;
const hour = 60 * minute;
const day = 24 * hour;
const steps = [
  ...[1, 2, 5, 10, 20, 50, 100, 200, 500], ...[1, 2, 5, 10, 15, 30].map((n) => n * second), ...[1, 2, 5, 10, 15, 30].map((n) => n * minute),
  ...[1, 2, 3, 6, 12].map((n) => n * hour), day, 2 * day, 7 * day,
];

function label(ms: number, step: number): string {
  const [unit, name] = step < second ? [1, 'ms'] : step < minute ? [second, 's'] : step < hour ? [minute, 'min'] : step < day ? [hour, 'h'] : [day, 'd'];
  return `${Math.round(ms / unit)} ${name}`;
}
