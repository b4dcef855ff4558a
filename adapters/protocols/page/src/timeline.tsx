// A run over time: its steps, the calls of the model and of tools, and the waits between.
import { useState } from 'preact/hooks';
import { count, duration, tokens } from './format';
import { Icon, Status, outcome } from './icons';
import { JSONView } from './json';
import type { RunRecord, ShownCall, Step } from './record';
import { route, select } from './route';
import { Scale, type Span } from './scale';

interface Row extends Span {
  key: string;
  level: 1 | 2 | 3;
  name: string;
  state: string;
  step: number;
  call: string;
  about: string;
  first?: number;
  retries: number;
}

// rowsOf lists a run's spans in their order. What is not over ends now.
export function rowsOf(r: RunRecord, now: number): Row[] {
  const end = r.ended || (r.status === 'waiting' ? Math.max(r.began, ...r.steps.flatMap((s) => [s.said, ...s.calls.map((c) => c.asked)])) : now);
  const rows: Row[] = [{
    key: 'run', level: 1, name: r.agent || 'run', state: outcome(r.status, r.termination), step: 0, call: '', kind: 'run', from: r.began, to: end,
    about: [count(r.steps.length, 'step'), tokens(r.usage)].filter(Boolean).join(' · '), retries: 0,
  }];
  for (const s of r.steps) {
    const open = !s.ended && !r.complete;
    const last = s.ended || (open && r.status !== 'waiting' ? now : Math.max(s.said, s.began, ...s.calls.map((c) => c.ended || c.asked)));
    rows.push({
      key: `${s.step}`, level: 2, name: `Step ${s.step}`, state: s.failed ? 'failed' : s.ended ? 'done' : r.status === 'waiting' ? 'waiting' : r.complete ? outcome(r.status, r.termination) : 'running',
      step: s.step, call: '', kind: 'step', from: s.began, to: last, about: '', retries: 0,
    });
    rows.push({
      key: `${s.step} model`, level: 3, name: s.model || 'model', state: s.failed ? 'failed' : s.said ? 'done' : r.complete ? 'failed' : 'running', step: s.step, call: 'model', kind: 'model',
      from: s.said && s.took ? Math.max(s.began, s.said - s.took) : s.began, to: s.said || last, about: tokens(s.usage), first: s.live ? s.first : 0, retries: s.retries.length,
    });
    for (const c of s.calls) rows.push(callRow(s, c, last));
  }
  return rows;
}

function callRow(s: Step, c: ShownCall, last: number): Row {
  const start = c.resumed || c.ready || s.said || s.began;
  const from = c.ended && c.took ? Math.max(c.ready, c.ended - c.took) : start;
  return {
    key: `${s.step} ${c.id}`, level: 3, name: c.name, state: c.status, step: s.step, call: c.id, kind: 'tool', from: c.asked && !c.resumed ? c.asked : from,
    to: c.ended || (c.status === 'waiting' ? c.asked : last), about: '', waits: c.asked && c.resumed > c.asked ? [c.asked, c.resumed] : undefined, retries: 0,
  };
}

const window = 200; // rows that are drawn at once

export function Timeline({ record }: { record: RunRecord }) {
  record.version.value;
  const [failedOnly, setFailedOnly] = useState(false);
  const [trueScale, setTrueScale] = useState(false);
  const all = rowsOf(record, Date.now());
  const scale = new Scale(all, trueScale);
  const failed = (r: Row) => r.level < 3 || ['failed', 'error', 'invalid', 'denied', 'blocked', 'unknown'].includes(r.state) || r.retries > 0;
  const matching = failedOnly ? all.filter(failed) : all;
  const [shown, setShown] = useState(window);
  const rows = matching.slice(0, shown);
  const { step, call } = route.value;
  const chosen = (r: Row) => (r.step === step && (r.level === 2 ? !call : r.call === call)) || (r.level === 1 && !step);
  const current = rows.find(chosen) ?? rows[0];
  const pick = (r: Row) => select({ run: record.id, step: r.step, call: r.call });
  const keys = (e: KeyboardEvent) => {
    const i = rows.indexOf(current);
    const to = { ArrowDown: i + 1, ArrowUp: i - 1, Home: 0, End: rows.length - 1, ArrowLeft: rows.findLastIndex((r, j) => j < i && r.level < current.level), ArrowRight: i + 1 }[e.key];
    if (to === undefined || !rows[to]) return;
    e.preventDefault();
    pick(rows[to]);
    requestAnimationFrame(() => document.querySelector<HTMLElement>('.waterfall [tabindex="0"]')?.focus());
  };
  return (
    <>
      <div class="pane-tools">
        <label class="inline"><input type="checkbox" checked={failedOnly} onChange={(e) => setFailedOnly(e.currentTarget.checked)} /> failed only</label>
        {scale.folded && <label class="inline"><input type="checkbox" checked={trueScale} onChange={(e) => setTrueScale(e.currentTarget.checked)} /> true scale</label>}
      </div>
      <div class="waterfall" role="treegrid" aria-label="Timeline" onKeyDown={keys}>
        {rows.map((r) => (
          <div
            key={r.key} role="row" aria-level={r.level} aria-selected={r === current} tabIndex={r === current ? 0 : -1}
            class={`span level-${r.level} ${r.state}${r === current ? ' selected' : ''}`} onClick={() => pick(r)}
          >
            <span class="span-name" role="gridcell">
              {r.level === 3 && <Icon name={r.kind === 'model' ? 'model' : 'tool'} />}
              <span class="name">{r.name}</span>
              {r.retries > 0 && <span class="retries">×{r.retries + 1}</span>}
              <Status name={r.state} quiet />
            </span>
            <span class="span-time" role="gridcell"><Bar row={r} scale={scale} /><span class="span-took">{duration(Math.max(0, r.to - r.from))}</span></span>
          </div>
        ))}
      </div>
      {matching.length > rows.length && <button type="button" class="small" onClick={() => setShown(shown + window)}>{count(matching.length - rows.length, 'more row')}</button>}
      {current && <Selected row={current} record={record} />}
    </>
  );
}

function Bar({ row, scale }: { row: Row; scale: Scale }) {
  const at = scale.at(row.from);
  const width = Math.max(0, scale.at(row.to) - at);
  return (
    <span class="track" aria-hidden="true">
      <span class={`bar ${row.kind}${row.state === 'failed' || row.state === 'error' ? ' failed' : ''}`} style={{ left: `${at}%`, width: `${width}%` }} />
      {row.first ? <span class="notch" style={{ left: `${scale.at(row.first)}%` }} /> : null}
      {row.waits && <span class="wait" style={{ left: `${scale.at(row.waits[0])}%`, width: `${Math.max(0, scale.at(row.waits[1]) - scale.at(row.waits[0]))}%` }} title={`waited ${duration(row.waits[1] - row.waits[0])}`} />}
    </span>
  );
}

// Selected says all about one span.
function Selected({ row, record }: { row: Row; record: RunRecord }) {
  const s = record.steps.find((s) => s.step === row.step);
  const c = s?.calls.find((c) => c.id === row.call);
  return (
    <section class="selected-span" aria-label={`About ${row.name}`}>
      <h2>{row.name} <Status name={row.state} /></h2>
      <dl class="facts">
        <dt>Time</dt><dd>{duration(Math.max(0, row.to - row.from))}</dd>
        {row.waits && <><dt>Waited</dt><dd>{duration(row.waits[1] - row.waits[0])}{c?.answered && `, then ${c.answered === 'resume' ? 'approved' : 'denied'}`}</dd></>}
        {row.level === 1 && <><dt>Run</dt><dd><code>{record.id}</code></dd></>}
        {row.about && <><dt>{row.level === 1 ? 'Total' : 'Tokens'}</dt><dd>{row.about}</dd></>}
        {row.kind === 'model' && s && s.live && s.first > 0 && <><dt>First piece</dt><dd>after {duration(s.first - row.from)}</dd></>}
        {row.kind === 'model' && s?.stop && <><dt>Stopped</dt><dd>{s.stop}</dd></>}
        {row.kind === 'model' && s?.failed && <><dt>Failure</dt><dd>{s.failed}</dd></>}
        {row.level === 1 && record.error && <><dt>Failure</dt><dd><code>{record.error.code}</code> {record.error.text}</dd></>}
      </dl>
      {row.kind === 'model' && s?.retries.map((r, i) => <p key={i} class="meta">Attempt {r.failed}: {r.reason}{r.to && `, ${r.to} continues`}{r.wait > 0 && `, then a wait of ${duration(r.wait)}`}</p>)}
      {c && <><p class="label">Arguments</p><JSONView value={c.arguments ?? c.text} label={`arguments of ${c.name}`} /></>}
      {c && c.result !== undefined && <><p class="label">Result</p><JSONView value={c.result} label={`result of ${c.name}`} /></>}
      {c?.message && <><p class="label">What the model reads</p><JSONView value={c.message} label="message" /></>}
    </section>
  );
}
