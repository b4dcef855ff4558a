// The pane about a run: in the chat with a small timeline, on the page of a run about the
// row that is chosen.
import { EventsView } from './events';
import { recordOf } from './follow';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { RequestView } from './request';
import { route, select, tabs } from './route';
import { StateView } from './state';
import { Timeline } from './timeline';
import { UseView } from './use';
import { useRecord } from './waterfall';

type Tab = (typeof tabs)[number];

const words: Record<Tab, string> = { timeline: 'Timeline', state: 'State', request: 'Request', events: 'Events', use: 'Use it' };

const isTab = (name: string): name is Tab => (tabs as readonly string[]).includes(name);

// Details shows a run beside the chat; none is a thread that has none yet.
export function Details({ run, thread, agent }: { run: string; thread: string; agent: string }) {
  const record = run ? recordOf(run) : undefined;
  record?.version.value;
  useRecord(record, route.value.tab === 'events');
  return (
    <div class="details">
      <Tabs first="Timeline">
        {(tab) => (tab === 'use' ? <UseView thread={thread} run={run} agent={record?.agent || agent} record={record} /> : record ? <Kept key={run} tab={tab} record={record} /> : <p class="empty">The steps of a run appear here.</p>)}
      </Tabs>
    </div>
  );
}

// Tabs shows one side of a run; first is the name of the first tab.
export function Tabs({ first, children }: { first: string; children: (tab: Tab) => preact.ComponentChildren }) {
  const tab: Tab = isTab(route.value.tab) ? route.value.tab : 'timeline';
  const move = (e: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by) return;
    const next = tabs[(tabs.indexOf(tab) + by + tabs.length) % tabs.length];
    select({ tab: next });
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return (
    <>
      <div class="tabs" role="tablist" aria-label="Run" onKeyDown={move}>
        {tabs.map((t) => (
          <button
            key={t} type="button" role="tab" id={`tab-${t}`} aria-selected={t === tab} aria-controls="pane" tabIndex={t === tab ? 0 : -1} onClick={() => select({ tab: t })}
          >
            {t === 'timeline' ? first : words[t]}
          </button>
        ))}
      </div>
      <div class="pane" role="tabpanel" id="pane" aria-labelledby={`tab-${tab}`} tabIndex={0}>{children(tab)}</div>
    </>
  );
}

// Kept is a tab of a run.
function Kept({ tab, record }: { tab: Tab; record: RunRecord }) {
  record.version.value;
  return tab === 'timeline' && hasAny(record) ? <Timeline record={record} /> : <Side key={tab} tab={tab} record={record} />;
}

// hasAny says whether something of the run is known, by events or from what is stored.
export const hasAny = (record: RunRecord) => record.events.length > 0 || record.stored.value.length > 0 || record.run.value !== undefined;

// Side is one of the sides of a run but for the first.
export function Side({ tab, record }: { tab: Tab; record: RunRecord }) {
  record.version.value;
  if (record.problem.value !== undefined) return <Problem error={record.problem.value} />;
  if (!hasAny(record)) return <p class="empty">Reading…</p>;
  switch (tab) {
    case 'state':
      return <StateView record={record} />;
    case 'request':
      return <RequestView record={record} />;
    case 'events':
      return <EventsView record={record} />;
  }
  return null;
}
