// The right pane: one run, seen from five sides.
import { useEffect, useState } from 'preact/hooks';
import { send } from './api';
import { follow, recordOf } from './follow';
import { clock, count } from './format';
import { Icon, Status, outcome } from './icons';
import { Copy, JSONView, download, oneLine } from './json';
import { Problem } from './problem';
import type { RunRecord } from './record';
import { route, select, tabs } from './route';
import { SentView } from './sent';
import { StateView } from './state';
import { Timeline } from './timeline';
import { UseView } from './use';

const words: Record<string, string> = { timeline: 'Timeline', state: 'State', sent: 'As sent', events: 'Events', use: 'Use it' };

// Details shows a run; none is a thread that has none yet.
export function Details({ run, thread, agent }: { run: string; thread: string; agent: string }) {
  const tab = words[route.value.tab] ? route.value.tab : 'timeline';
  const record = run ? recordOf(run) : undefined;
  useEffect(() => {
    if (record) void follow(record);
  }, [record]);
  const move = (e: KeyboardEvent) => {
    const by = { ArrowLeft: -1, ArrowRight: 1 }[e.key];
    if (!by) return;
    const next = tabs[(tabs.indexOf(tab as (typeof tabs)[number]) + by + tabs.length) % tabs.length];
    select({ tab: next });
    requestAnimationFrame(() => document.getElementById(`tab-${next}`)?.focus());
  };
  return (
    <div class="details">
      <div class="tabs" role="tablist" aria-label="Run" onKeyDown={move}>
        {tabs.map((t) => (
          <button
            key={t} type="button" role="tab" id={`tab-${t}`} aria-selected={t === tab} aria-controls="pane" tabIndex={t === tab ? 0 : -1} onClick={() => select({ tab: t })}
          >
            {words[t]}
          </button>
        ))}
      </div>
      <div class="pane" role="tabpanel" id="pane" aria-labelledby={`tab-${tab}`} tabIndex={0}>
        {tab === 'use' ? <UseView thread={thread} run={run} agent={record?.agent || agent} /> : record ? <Pane key={`${tab} ${run}`} tab={tab} record={record} /> : <p class="empty">The steps of a run appear here.</p>}
      </div>
    </div>
  );
}

function Pane({ tab, record }: { tab: string; record: RunRecord }) {
  record.version.value;
  if (record.problem.value !== undefined) return <Problem error={record.problem.value} />;
  if (!record.events.length) return <p class="empty">Reading…</p>;
  switch (tab) {
    case 'state':
      return <StateView record={record} />;
    case 'sent':
      return <SentView record={record} />;
    case 'events':
      return <EventsView record={record} />;
  }
  return <Timeline record={record} />;
}

const window = 200; // events that are drawn at once

// EventsView lists the native events as they came.
function EventsView({ record }: { record: RunRecord }) {
  record.version.value;
  const [filter, setFilter] = useState('');
  const [shown, setShown] = useState(window);
  const [problem, setProblem] = useState<unknown>(undefined);
  const all = record.events.filter(({ event }) => !filter || event.event_type.includes(filter) || JSON.stringify(event).includes(filter));
  const save = async () => {
    try {
      const response = await send('GET', `v1/runs/${record.id}/events/stream`, undefined, { accept: 'text/event-stream' });
      download(`${record.id}.sse`, await response.text());
    } catch (e) {
      setProblem(e);
    }
  };
  return (
    <div class="pane-body">
      <div class="pane-tools">
        <input type="search" aria-label="Filter events" placeholder="Filter" value={filter} onInput={(e) => setFilter(e.currentTarget.value)} />
        <span class="meta">{count(all.length, 'event')}</span>
        {record.complete && <button type="button" class="small" onClick={() => void save()}>Download</button>}
      </div>
      {problem !== undefined && <Problem error={problem} />}
      <ul class="events">
        {all.slice(0, shown).map(({ id, event }, i) => (
          <li key={i}>
            <details>
              <summary>
                <span class="meta">{event.time ? clock(Date.parse(event.time)) : ''}</span> <span class="call-name">{event.event_type}</span>{' '}
                <span class="call-line">{oneLine(event.delta ?? event.name ?? event.result ?? '', 40)}</span>
              </summary>
              {id && <p class="meta">id <code>{id}</code></p>}
              <JSONView value={event as never} label={event.event_type} />
            </details>
          </li>
        ))}
      </ul>
      {all.length > shown && <button type="button" onClick={() => setShown(shown + window)}>{count(all.length - shown, 'more event')}</button>}
    </div>
  );
}

// RunBar says in one line how the run stands.
export function RunBar({ run }: { run: string }) {
  const record = run ? recordOf(run) : undefined;
  record?.version.value;
  if (!record?.events.length) return <div class="run-bar" role="group" aria-label="Run in short"><span class="meta">No run</span></div>;
  const took = record.took || (record.ended && record.ended - record.began);
  return (
    <div class="run-bar" role="group" aria-label="Run in short">
      <Status name={outcome(record.status, record.termination)} />
      <span>{count(record.steps.length, 'step')}</span>
      <span>{(record.usage.input ?? 0).toLocaleString()} in</span>
      <span>{(record.usage.output ?? 0).toLocaleString()} out</span>
      {record.usage.cache_read ? <span>{record.usage.cache_read.toLocaleString()} cached</span> : null}
      {took > 0 && <span>{(took / 1000).toFixed(1)} s</span>}
      <span class="grow" />
      <Copy text={location.href} label="Copy a link to this view"><Icon name="link" /> Link</Copy>
    </div>
  );
}
