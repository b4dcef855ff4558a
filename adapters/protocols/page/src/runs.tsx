// All runs, newest first: what was asked, how it ended, and what it took.
import { useEffect, useState } from 'preact/hooks';
import { ago, amount, count, duration, moment, money, took } from './format';
import { Head } from './head';
import { coded } from './hidden';
import { Icon, Status, outcome, type IconName } from './icons';
import { narrow } from './layout';
import { agents, approvals, poll, reach, runs, spans, summary, threads, type Hour } from './lists';
import { Bars, buckets, Took } from './plot';
import { Problem } from './problem';
import { address, route, select, type Route } from './route';
import { nameOf } from './sidebar';
import type { Run } from './types';

const words: Record<string, string> = { '1h': 'Last hour', '24h': 'Last 24 h', '7d': 'Last 7 days', '30d': 'Last 30 days', all: 'Any time' };

export function RunsView() {
  const { status, agent, search, since, origin, parent, over, cost } = route.value;
  useEffect(() => {
    runs.clear();
    return poll(runs);
  }, [status, agent, search, since, origin, parent, over, cost]);
  useEffect(() => poll(summary), [since, agent]);
  const totals = summary.value.value?.totals;
  const filtered = [status, agent, search, origin, parent, over, cost].some(Boolean);
  return (
    <>
      <Head title="Runs" state={totals && <span class="meta">{`${amount(totals.runs)} in ${(words[since] ?? words['24h']).replace(/^Last |^Any time/, '') || '30 days'}`}</span>}>
        {!narrow.value && <Search />}
      </Head>
      <div class="body stack huge">
        <Stats />
        <div class="stack">
          {narrow.value && <Search />}
          <Filters />
          {runs.missing.value && <p class="empty">This host lists no runs.</p>}
          {runs.problem.value !== undefined && <Problem error={runs.problem.value} />}
          {runs.items.value?.length === 0 && !runs.more.value && <Nothing filtered={filtered} />}
          {!!runs.items.value?.length && <RunList items={runs.items.value} />}
          <Older />
        </div>
      </div>
    </>
  );
}

function Nothing({ filtered }: { filtered: boolean }) {
  return <p class="empty">{filtered ? 'No run matches.' : reach(route.value.since) ? 'No run in this time.' : 'No run yet.'}</p>;
}

function Search() {
  const [text, setText] = useState(route.value.search);
  useEffect(() => {
    const timer = setTimeout(() => text !== route.value.search && select({ search: text }), 200);
    return () => clearTimeout(timer);
  }, [text]);
  return (
    <div class="find-in">
      <Icon name="search" />
      <input type="search" aria-label="Search runs" placeholder="Question, run or thread" value={text} onInput={(e) => setText(e.currentTarget.value)} />
    </div>
  );
}

// Stats shows the runs, tokens and cost of the time that the list covers, by its hours or
// days.
function Stats() {
  const s = summary.value.value;
  if (!s || summary.missing.value) return null;
  const { totals } = s;
  const n = s.to - s.from > 2 * spans['24h'] ? Math.min(30, Math.round((s.to - s.from) / spans['24h'])) : Math.max(1, Math.round((s.to - s.from) / spans['1h']));
  const by = n === 24 || s.to - s.from <= 2 * spans['24h'] ? 'hour' : 'day';
  const bars = (value: (h: Hour) => number) => buckets(s.hours, s.from, s.to, n, value);
  const tokens = totals.input + totals.output;
  const cached = totals.input && totals.cache_read ? `${Math.round((totals.cache_read / totals.input) * 100)} % cached` : '';
  const unknown = totals.cost_usd === null || totals.cost_usd === undefined;
  return (
    <div class="stats" tabIndex={0} role="group" aria-label="Runs, tokens and cost">
      <Stat word="Runs" total={amount(totals.runs)} about={`by the ${by}`} values={bars((h) => h.runs)} />
      <Stat word="Tokens" total={amount(tokens)} about={cached || `${amount(totals.input)} in, ${amount(totals.output)} out`} values={bars((h) => h.input + h.output)} />
      <Stat word="Cost" total={unknown ? 'unknown' : money(totals.cost_usd!)} about={unknown ? 'a price is unknown' : ''} values={bars((h) => h.cost_usd ?? 0)} />
    </div>
  );
}

function Stat({ word, total, about, values }: { word: string; total: string; about: string; values: number[] }) {
  return (
    <figure class="card pad">
      <figcaption class="line between"><span class="label">{word}</span><span class="meta">{about}</span></figcaption>
      <p class="title">{total}</p>
      <Bars values={values} label={`${word}: ${total} in all`} />
    </figure>
  );
}

function Filters() {
  const { status, agent, since, origin, parent, over, cost } = route.value;
  const toggle = (word: string, icon: IconName, on: boolean, change: Partial<Route>) => (
    <button type="button" class="chip" aria-pressed={on} onClick={() => select(change)}><Icon name={icon} />{word}</button>
  );
  const names = [...new Set([...(agents.value ?? []).map((a) => a.id), ...(agent ? [agent] : [])])];
  const state = (name: string, word: string, icon: IconName) => toggle(word, icon, status === name, { status: status === name ? '' : name });
  return (
    <div class="line filters" role="group" aria-label="Filters">
      <Choice word="Time" value={since || '24h'} on first choices={Object.entries(words)} pick={(v) => select({ since: v })} />
      <Choice word="Agent" value={agent} on={!!agent} choices={[['', 'Any agent'], ...names.map((a): [string, string] => [a, a])]} pick={(v) => select({ agent: v })} />
      <Choice word="Origin" value={origin} on={!!origin} choices={[['', 'Any origin'], ['user', 'By users'], ['internal', 'By triggers']]} pick={(v) => select({ origin: v })} />
      {state('running', 'Running', 'again')}
      {state('waiting', 'Waiting', 'pause')}
      {state('failed', 'Failed', 'cross')}
      {state('cancelled', 'Cancelled', 'stop')}
      {toggle('Over 10 s', 'clock', !!over, { over: over ? '' : '10000' })}
      {toggle('Over $0.05', 'gauge', !!cost, { cost: cost ? '' : '0.05' })}
      {parent && <button type="button" class="chip on" onClick={() => select({ parent: '' })}>Started by one run<Icon name="cross" /><span class="hidden">Show all runs</span></button>}
      <span class="grow" />
      <span class="row-keys meta"><span><kbd>j</kbd><kbd>k</kbd> rows</span><span><kbd>f</kbd> filter</span></span>
    </div>
  );
}

function Choice({ word, value, on, first, choices, pick }: { word: string; value: string; on: boolean; first?: boolean; choices: [string, string][]; pick: (value: string) => void }) {
  return (
    <span class="choose">
      <select class={`chip${on ? ' on' : ''}`} aria-label={word} data-filter={first ? '' : undefined} value={value} onChange={(e) => pick(e.currentTarget.value)}>
        {choices.map(([v, text]) => <option key={v} value={v}>{text}</option>)}
      </select>
      <Icon name="down" />
    </span>
  );
}

function RunList({ items }: { items: Run[] }) {
  const most = Math.max(1, ...items.map((r) => times(r).worked));
  const longest = Math.max(1, ...items.map((r) => times(r).waited));
  const waits = items.some((r) => times(r).waited > 0);
  return (
    <div class="runs">
      <div class="run th" aria-hidden="true">
        <span>State</span><span>Question</span><span class="of-agent">Agent</span><span>Time</span><span class="number of-tokens">Tokens</span><span class="number of-cost">Cost</span><span class="number">Started</span>
      </div>
      <ul data-rows aria-label="Runs">
        {items.map((r) => <li key={r.run_id}><RunRow run={r} most={most} longest={waits ? longest : 0} /></li>)}
      </ul>
    </div>
  );
}

// times are how long a run worked and how long it waited for people.
function times(r: Run): { worked: number; waited: number } {
  const all = r.started_at ? (r.finished_at || Date.now()) - r.started_at : 0;
  if (r.status === 'waiting') return { worked: r.worked_ms ?? 0, waited: Math.max(0, all - (r.worked_ms ?? 0)) };
  const waited = Math.min(all, r.waited_ms ?? 0);
  return { worked: r.worked_ms ?? all - waited, waited };
}

const tones: Record<string, string> = { error: 'failed', blocked: 'failed', cancelled: 'queued', superseded: 'queued', stopped: 'queued' };

function RunRow({ run: r, most, longest }: { run: Run; most: number; longest: number }) {
  const { worked, waited } = times(r);
  const tokens = (r.usage?.input ?? 0) + (r.usage?.output ?? 0);
  const thread = threads.items.value?.find((t) => t.thread_id === r.thread_id);
  const name = coded(r.asked || r.thread_title || '', true) || (r.parent ? 'Started by a call' : thread ? nameOf(thread) : 'No text');
  const room = longest ? 0.62 : 1;
  const title = waited ? `worked ${duration(worked)}, waited ${duration(waited)}` : undefined;
  return (
    <a class="run" href={address({ view: 'run', run: r.run_id })} data-row>
      <span><Status name={outcome(r.status, r.termination)} /></span>
      <span class={`of-question${r.parent ? ' child' : ''}`}>
        <span class="cut">{r.parent && <Icon name="fork" />}<strong dir="auto">{name}</strong></span>
        <span class="meta cut">{about(r)}</span>
      </span>
      <span class="of-agent cut">{r.agent_id}</span>
      <span class="of-time" title={title}>
        <Took worked={(worked / most) * room} waited={longest ? (waited / longest) * (1 - room) : 0} tone={tones[r.termination?.type ?? ''] ?? 'part'} />
        <span class="nowrap">{r.started_at ? took(worked + waited) : ''}{waited > 0 && <span class="hidden"> with {duration(waited)} of waiting</span>}</span>
      </span>
      <span class="number of-tokens">{tokens ? <>{tokens.toLocaleString()}<span class="hidden"> tokens</span></> : ''}</span>
      <span class="number of-cost">{r.cost_usd === null ? 'unknown' : r.cost_usd === undefined ? '' : money(r.cost_usd)}</span>
      <time class="number meta of-start" dateTime={new Date(r.created_at).toISOString()} title={moment(r.created_at)}>{ago(r.created_at, Date.now())}</time>
    </a>
  );
}

// about says in few words how a run is, or how it ended.
function about(r: Run): string {
  const end = r.termination;
  const parts: string[] = [];
  if (r.status === 'waiting') parts.push(waitsFor(r));
  else if (r.status === 'running') parts.push(`step ${r.steps + 1}`);
  else if (end && end.type !== 'natural_end') parts.push(coded([end.code, end.detail].filter(Boolean).join(': ')) || `in step ${Math.max(1, r.steps)}`);
  if (r.status === 'done' && r.steps) parts.push(`${count(r.steps, 'step')}${r.calls ? `, ${count(r.calls, 'call')}` : ''}`);
  if (r.takeovers) parts.push(`resumed ${r.takeovers === 1 ? 'once' : `${r.takeovers} times`}`);
  if (r.thread_title && r.asked) parts.push(`in “${coded(r.thread_title, true)}”`);
  return parts.join(', ');
}

// waitsFor says what has to come before a run continues.
function waitsFor(r: Run): string {
  const own = approvals.items.value?.filter((a) => a.run_id === r.run_id) ?? [];
  const questions = own.filter((a) => a.kind === 'client').length;
  const parts = [own.length > questions ? count(own.length - questions, 'approval') : '', questions ? count(questions, 'answer') : ''].filter(Boolean);
  return parts.length ? `waits for ${parts.join(' and ')}` : 'waits';
}

// Older reads on, in the time that is chosen and then before it.
function Older() {
  const n = runs.items.value?.length ?? 0;
  const waits = runs.items.value?.some((r) => times(r).waited);
  const bounded = reach(route.value.since) > 0 && !route.value.parent;
  if (!runs.items.value || runs.missing.value) return null;
  return (
    <div class="line between">
      <span class="meta">{n > 0 && `1 to ${n.toLocaleString()}. `}{waits && 'Hatched: waited for a person.'}</span>
      {runs.more.value ? <button type="button" onClick={() => void runs.readMore()}>Older<Icon name="right" /></button> : bounded && <button type="button" onClick={() => select({ since: 'all' })}>Older<Icon name="right" /></button>}
    </div>
  );
}
