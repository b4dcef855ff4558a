// The page of one run: its waterfall, and beside or below it all about the row that is chosen.
import { useRef, useState } from 'preact/hooks';
import { Side, Tabs, hasAny } from './details';
import { save } from './events';
import { figuresOf } from './figures';
import { follow, recordOf } from './follow';
import { forkAfter, runAgain } from './fork';
import { count, money, short, took } from './format';
import { Head } from './head';
import { Icon, Status } from './icons';
import { threads } from './lists';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { address, go, route } from './route';
import { ChildrenAsk } from './runtree';
import { nameOf as threadName } from './sidebar';
import { SpanView } from './span';
import { UseView } from './use';
import { Legend, WaterfallView, isChosen, rowsShown, useNow, useRecord, useWaterfall } from './waterfall';

export function RunPage({ run }: { run: string }) {
  return <OfRun key={run} record={recordOf(run)} />;
}

function OfRun({ record }: { record: RunRecord }) {
  record.version.value;
  useRecord(record, route.value.tab === 'events');
  const [truly, setTruly] = useState(false);
  const [failedOnly, setFailedOnly] = useState(false);
  const [hideSteps, setHideSteps] = useState(false);
  const known = hasAny(record);
  const now = useNow(record);
  const all = useWaterfall(record, now, truly, true);
  const rows = rowsShown(all, failedOnly, hideSteps);
  const chosen = all.rows.find(isChosen) ?? all.rows[0];
  const chip = (on: boolean, set: (on: boolean) => void, icon: 'pause' | 'cross' | 'tool', word: string) => (
    <button type="button" class="chip" aria-pressed={on} onClick={() => set(!on)}><Icon name={icon} />{word}</button>
  );
  return (
    <>
      <main class="main of-run" data-pane="main" tabIndex={-1}>
        <RunHead record={record} />
        {record.problem.value !== undefined && <div class="padded"><Problem error={record.problem.value} /></div>}
        <ChildrenAsk record={record} />
        {known && (
          <div class="wf-tools hide-narrow">
            {chip(!truly, (on) => setTruly(!on), 'pause', 'waits folded')}
            {chip(failedOnly, setFailedOnly, 'cross', 'failed only')}
            {chip(hideSteps, setHideSteps, 'tool', 'hide steps')}
            <span class="grow" />
            <span class="meta keys-hint"><kbd>j</kbd><kbd>k</kbd> rows</span>
            <span class="meta keys-hint"><kbd>[</kbd><kbd>]</kbd> steps</span>
          </div>
        )}
        <div class="wf-scroll" data-steps={[...new Set(all.rows.map((r) => r.step).filter(Boolean))].join(' ')}>
          {known ? <><WaterfallView record={record} rows={rows} scale={all.scale} /><Legend /></> : record.problem.value === undefined && <p class="empty">Reading…</p>}
        </div>
      </main>
      <aside class="side of-run" data-pane="side" aria-label="About the selection">
        <Tabs first="Call">
          {(tab) => (tab === 'use' ? <UseView thread={record.thread} run={record.id} agent={record.agent} record={record} /> : tab === 'timeline' && known ? <SpanView row={chosen} record={record} /> : <Side key={tab} tab={tab} record={record} />)}
        </Tabs>
      </aside>
    </>
  );
}

// nameOf is a run's name: its thread's title, else what it was asked, else as the list of
// threads has it.
function nameOf(record: RunRecord): string {
  const run = record.run.value;
  const thread = threads.items.value?.find((t) => t.thread_id === record.thread);
  return run?.thread_title || run?.asked || (thread ? threadName(thread) : `Run ${short(record.id)}`);
}

function RunHead({ record }: { record: RunRecord }) {
  const [problem, setProblem] = useState<unknown>(undefined);
  const [busy, setBusy] = useState(false);
  const f = figuresOf(record, Date.now());
  const known = hasAny(record);
  const failed = f.termination?.type === 'error';
  const again = async () => {
    setBusy(true);
    setProblem(undefined);
    try {
      location.hash = `#/runs/${await runAgain(record)}`;
    } catch (e) {
      setProblem(e);
    }
    setBusy(false);
  };
  return (
    <>
      <Head title={nameOf(record)} hint={record.id} state={known && <Status name={f.state} />}>
        {record.thread && <a class="button hide-narrow" href={address({ thread: record.thread, run: record.id })}><Icon name="chat" />Chat</a>}
        {f.termination && (
          <button type="button" disabled={busy} title={failed ? 'Continue after the last step that is stored' : 'Ask the same in a new thread'} onClick={() => void again()}><Icon name="again" />Run again</button>
        )}
        <More record={record} onProblem={setProblem} />
      </Head>
      {known && (
        <p class="facts-line">
          <span><Icon name="agent" />{record.agent || 'run'}</span>
          <span>{took(f.worked)}{f.waited > 0 && <span class="meta"> and {took(f.waited)} of waiting</span>}</span>
          <span class="hide-narrow">{count(f.steps, 'step')}, {count(f.calls, 'call')}{f.cut && ', 1 step cut short'}</span>
          <span class="hide-narrow">{(f.usage.input ?? 0).toLocaleString()} in, {(f.usage.output ?? 0).toLocaleString()} out</span>
          {typeof f.cost === 'number' && <span>{money(f.cost)}</span>}
          {f.takeovers > 0 && <span class="status done hide-narrow"><Icon name="again" />resumed {f.takeovers > 1 ? `${f.takeovers} times` : 'once'}</span>}
          {record.run.value?.parent && <a class="hide-narrow" href={`#/runs/${record.run.value.parent.run_id}`}>child of {short(record.run.value.parent.run_id)}</a>}
        </p>
      )}
      {problem !== undefined && <div class="padded"><Problem error={problem} /></div>}
    </>
  );
}

function More({ record, onProblem }: { record: RunRecord; onProblem: (e: unknown) => void }) {
  const menu = useRef<HTMLDivElement>(null);
  const [copied, setCopied] = useState(false);
  const item = (icon: 'copy' | 'down' | 'fork', word: string, act: () => void) => (
    <button type="button" onClick={() => (menu.current?.hidePopover(), act())}><Icon name={icon} />{word}</button>
  );
  const copy = () => void navigator.clipboard?.writeText(location.href).then(() => {
    setCopied(true);
    setTimeout(() => setCopied(false), 1500);
  });
  return (
    <span class="menu-of">
      <button type="button" class="icon-button" aria-label={copied ? 'Copied' : 'More'} popovertarget="run-more"><Icon name={copied ? 'check' : 'more'} /></button>
      <div class="menu" id="run-more" popover="auto" ref={menu} role="group" aria-label="More">
        {item('copy', 'Copy link', copy)}
        {item('down', 'Download events', () => void follow(record).then(() => save(record)))}
        {item('fork', 'Fork after this run', () => void forkAfter(record, Infinity).then((thread) => go({ thread }), onProblem))}
      </div>
    </span>
  );
}

