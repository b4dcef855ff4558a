// Where a moment stands on the width of the timeline. Long waits for a person are folded
// to a short break, so that what works is seen beside what waits for days.

export interface Span {
  kind: 'run' | 'step' | 'model' | 'tool';
  from: number; // unix milliseconds
  to: number;
  waits?: [from: number, to: number];
}

const share = 0.08; // of the width, for each break

export class Scale {
  private readonly breaks: [number, number][] = [];
  private readonly start: number;
  private readonly end: number;
  readonly folded: boolean;

  constructor(spans: Span[], truly: boolean) {
    const from = spans.map((s) => s.from).filter((t) => t > 0);
    this.start = from.length ? Math.min(...from) : 0;
    this.end = Math.max(this.start + 1, ...spans.map((s) => s.to));
    const waits = spans.flatMap((s) => (s.waits ? [s.waits] : [])).sort((a, b) => a[0] - b[0]);
    for (const [a, b] of waits) {
      const last = this.breaks.at(-1);
      if (last && a <= last[1]) last[1] = Math.max(last[1], b);
      else this.breaks.push([a, b]);
    }
    const whole = this.end - this.start;
    this.breaks = this.breaks.filter(([a, b]) => b - a > whole * share);
    this.folded = this.breaks.length > 0;
    if (truly) this.breaks = [];
  }

  // at is a place from 0 to 100.
  at(t: number): number {
    let worked = this.end - this.start;
    let before = Math.min(Math.max(t, this.start), this.end) - this.start;
    let inBreaks = 0;
    for (const [a, b] of this.breaks) {
      worked -= b - a;
      const passed = Math.min(Math.max(t - a, 0), b - a);
      before -= passed;
      inBreaks += passed / (b - a);
    }
    const free = 1 - share * this.breaks.length;
    const part = worked > 0 ? (before / worked) * free : 0;
    return (part + inBreaks * share) * 100;
  }
}
