// Small plots: bars of an amount over time, and bars of a share.

// Bars draws values side by side. label says in words what they show.
export function Bars({ values, label }: { values: number[]; label: string }) {
  const most = Math.max(...values, 0);
  const height = (v: number) => (most && v ? Math.max(1, (v / most) * 46) : 0);
  return (
    <svg class="plot" role="img" aria-label={label} viewBox={`0 0 ${values.length} 47`} preserveAspectRatio="none">
      {values.map((v, i) => v > 0 && <rect key={i} x={i + 0.12} width="0.76" y={46 - height(v)} height={height(v)} />)}
      <line class="tick" x1="0" x2={values.length} y1="46.5" y2="46.5" />
    </svg>
  );
}

const percent = (part: number) => `${Math.max(0, Math.min(100, part * 100)).toFixed(1)}%`;

// Share draws a part of a whole.
export function Share({ part, tone }: { part: number; tone?: 'waiting' }) {
  return (
    <svg class="share" aria-hidden="true">
      <rect class="ground" width="100%" height="8" />
      <rect class={tone ?? 'part'} width={percent(part)} height="8" />
    </svg>
  );
}

// Took draws how long something worked and, hatched, how long it waited for a person.
export function Took({ worked, waited, tone }: { worked: number; waited: number; tone: string }) {
  return (
    <svg class="spent" aria-hidden="true">
      {worked > 0 && <rect class={tone} x="0" y="2" height="8" rx="2" width={percent(Math.max(0.03, worked))} />}
      {waited > 0 && <line class="hatch" x1={percent(worked)} x2={percent(worked + Math.max(0.06, waited))} y1="6" y2="6" />}
    </svg>
  );
}

// buckets sums what happened at times in equal parts of a span.
export function buckets<T extends { at: number }>(items: T[], from: number, to: number, n: number, value: (item: T) => number): number[] {
  const sums = new Array<number>(n).fill(0);
  for (const item of items) {
    const i = Math.floor(((item.at - from) / (to - from)) * n);
    sums[Math.max(0, Math.min(n - 1, i))] += value(item);
  }
  return sums;
}
