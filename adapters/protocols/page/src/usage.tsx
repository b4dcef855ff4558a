// What was used, by whom, and what of the limits is left.
import { signal } from '@preact/signals';
import { useEffect, useState } from 'preact/hooks';
import { query, send } from './api';
import { amount, duration, minute, money } from './format';
import { Head } from './head';
import { Icon } from './icons';
import { download } from './json';
import { Part, poll } from './lists';
import { Share } from './plot';
import { Problem } from './problem';
import { address, route } from './route';

interface Limits {
  limits?: { runs_a_day?: number; tokens_a_day?: number; spend_a_day_usd?: number; concurrent_runs?: number };
  used?: { runs: number; tokens: number; spend_usd: number; concurrent_runs: number };
  ends_at?: string;
}

interface Row {
  day?: string;
  agent?: string;
  user?: string;
  provider?: string;
  model?: string;
  runs: number;
  tokens: { input: number; output: number };
  inferences: number;
  model_ms: number;
  model_cost_usd: number | null; // null: the price of a model is unknown
}

export interface Report {
  from: string;
  to: string;
  rows: Row[];
}

const day = 86_400_000;
const ranges: Record<string, number> = { day: 1, week: 7, month: 30 };
const groups = ['agent', 'model', 'user'] as const;

const range = () => (ranges[route.value.since] ? route.value.since : 'week');
const group = () => groups.find((g) => g === route.value.by) ?? 'agent';

// date is a day as the host names it, some days ago.
const date = (ago: number) => new Date(Date.now() - ago * day).toISOString().slice(0, 10);

const report = (format?: string) => `v1/usage${query({ from: date(ranges[range()] - 1), to: date(0), by: `day,${group()}`, format })}`;

const usage = new Part<Report>(() => report());
const limits = new Part<Limits>(() => 'v1/limits');
const problem = signal<unknown>(undefined); // of the file

async function save(): Promise<void> {
  try {
    const response = await send('GET', report('csv'));
    download(`usage-${date(ranges[range()] - 1)}-${date(0)}.csv`, await response.text());
    problem.value = undefined;
  } catch (e) {
    problem.value = e;
  }
}

export function UsageView() {
  const { since, by } = route.value;
  useEffect(() => poll(usage), [since, by]);
  useEffect(() => poll(limits), []);
  const to = (change: { since?: string; by?: string }) => address({ view: 'usage', since, by, ...change });
  return (
    <>
      <Head title="Usage">
        <nav class="segments" aria-label="Range">
          {Object.keys(ranges).map((r) => <a key={r} href={to({ since: r })} aria-current={r === range() ? 'true' : undefined}>{r[0].toUpperCase() + r.slice(1)}</a>)}
        </nav>
        <button type="button" class="wide-only" onClick={() => void save()}><Icon name="down" /> CSV</button>
      </Head>
      <div class="body">
        <div class="column wide">
          {[problem.value, limits.problem.value, usage.problem.value].map((p, i) => p !== undefined && <Problem key={i} error={p} />)}
          <LimitsSheet />
          <section class="sheet" aria-label="Usage">
            <header>
              <h2>Usage</h2>
              <span class="grow" />
              <nav class="segments" aria-label="Group">
                {groups.map((g) => <a key={g} href={to({ by: g })} aria-current={g === group() ? 'true' : undefined}>{g[0].toUpperCase() + g.slice(1)}</a>)}
              </nav>
            </header>
            <UsageTable />
          </section>
        </div>
      </div>
    </>
  );
}

function LimitsSheet() {
  const [now, setNow] = useState(Date.now());
  useEffect(() => {
    const timer = setInterval(() => setNow(Date.now()), 60_000);
    return () => clearInterval(timer);
  }, []);
  if (limits.missing.value || !limits.value.value) return null;
  const { limits: set, used, ends_at: end } = limits.value.value;
  const left = end ? Date.parse(end) - now : 0;
  if (!set || !used) {
    return (
      <section class="sheet" aria-label="Limits">
        <header><h2>Limits</h2><span class="meta">none is set</span></header>
        <p class="in meta">The setting <code>REVEILLE_LIMITS</code> bounds what a tenant may use in a day: runs, tokens, spend, and runs at once.</p>
      </section>
    );
  }
  const daily: [word: string, used: number, most: number | undefined, show: (n: number) => string][] = [
    ['Spend', used.spend_usd, set.spend_a_day_usd, money],
    ['Tokens', used.tokens, set.tokens_a_day, amount],
    ['Runs', used.runs, set.runs_a_day, (n) => n.toLocaleString()],
  ];
  const soonest = daily.flatMap(([word, n, most]) => (most && n ? [{ word, at: now + ((day - left) / n) * (most - n) }] : [])).sort((a, b) => a.at - b.at)[0];
  return (
    <section class="sheet" aria-label="Limits">
      <header><h2>Limits today</h2>{end && <span class="meta">they end at 00:00 UTC, in {duration(Math.max(0, left))}</span>}</header>
      <div class="in two">
        {daily.map(([word, n, most, show]) => most && <Limit key={word} word={word} text={`${show(n)} of ${show(most)}`} part={n / most} />)}
        {set.concurrent_runs && <Limit word="Runs at once" text={`${used.concurrent_runs} of ${set.concurrent_runs}`} part={used.concurrent_runs / set.concurrent_runs} />}
      </div>
      {soonest && soonest.at < now + left && <Pace word={soonest.word} at={soonest.at} now={now} />}
    </section>
  );
}

function Limit({ word, text, part }: { word: string; text: string; part: number }) {
  return <div class="limit"><strong>{word}</strong><span>{text}</span><Share part={part} tone={part >= 0.8 ? 'waiting' : undefined} /></div>;
}

function Pace({ word, at, now }: { word: string; at: number; now: number }) {
  const time = minute(at);
  return (
    <p class="note"><Icon name="warn" /><span><strong>{at <= now ? `${word}: the limit is reached.` : `At this pace, ${word.toLowerCase()} reach${word === 'Spend' ? 'es' : ''} the limit at ${time}.`}</strong> After that, the host refuses new runs with 429. Open runs continue.</span></p>
  );
}

const dayName = (d: string) => (d === date(0) ? 'Today' : d === date(1) ? 'Yesterday' : d);

function UsageTable() {
  const g = group();
  const rows = [...(usage.value.value?.rows ?? [])].filter((r) => g !== 'model' || r.model).reverse();
  const tokens = (r: Row) => r.tokens.input + r.tokens.output;
  const paid = rows.some((r) => r.model_cost_usd);
  const share = (r: Row) => (paid ? r.model_cost_usd ?? 0 : tokens(r));
  const whole = new Map<string, number>();
  for (const r of rows) whole.set(r.day ?? '', (whole.get(r.day ?? '') ?? 0) + share(r));
  rows.sort((a, b) => (a.day === b.day ? share(b) - share(a) : (b.day ?? '') < (a.day ?? '') ? -1 : 1));
  if (usage.missing.value) return <p class="in meta">This host records no usage.</p>;
  if (usage.value.value && !rows.length) return <p class="in meta">Nothing was used in this time.</p>;
  const name = (r: Row) => (g === 'model' ? [...new Set([r.provider, r.model])].filter(Boolean).join(', ') : g === 'user' ? r.user || 'no user' : r.agent) || 'unknown';
  return (
    <div class="in scroll" tabIndex={0} role="group" aria-label="Usage">
      <table class="figures">
        <thead>
          <tr>
            <th scope="col">Day (UTC)</th><th scope="col">{g[0].toUpperCase() + g.slice(1)}</th><th scope="col" class="number wide-only">{g === 'model' ? 'Calls' : 'Runs'}</th>
            <th scope="col" class="number">Tokens</th><th scope="col" class="number">Cost</th><th scope="col" class="wide-only">Share of the day</th>
          </tr>
        </thead>
        <tbody>
          {rows.map((r, i) => (
            <tr key={`${r.day} ${name(r)}`}>
              <td class="nowrap">{r.day !== rows[i - 1]?.day ? dayName(r.day ?? '') : <span class="hidden">{dayName(r.day ?? '')}</span>}</td>
              <td>{name(r)}</td>
              <td class="number wide-only">{(g === 'model' ? r.inferences : r.runs).toLocaleString()}</td>
              <td class="number" title={`${r.tokens.input.toLocaleString()} in, ${r.tokens.output.toLocaleString()} out`}>{amount(tokens(r))}</td>
              <td class="number">{r.model_cost_usd === null ? 'unknown' : money(r.model_cost_usd)}</td>
              <td class="wide-only"><Share part={share(r) / (whole.get(r.day ?? '') || 1)} /></td>
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}
