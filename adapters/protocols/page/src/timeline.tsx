// The timeline beside the chat: a small waterfall, and what is chosen in it in short.
import { took } from './format';
import { Icon, Status } from './icons';
import { oneLine } from './json';
import type { RunRecord } from './record';
import { type Row, waitText } from './rows';
import { figuresOf } from './figures';
import { timedOf } from './timed';
import { WaterfallView, isChosen, useNow, useWaterfall } from './waterfall';

export function Timeline({ record }: { record: RunRecord }) {
  record.version.value;
  const now = useNow(record);
  const { rows, scale } = useWaterfall(record, now, false, false);
  const current = rows.find(isChosen) ?? rows[0];
  return (
    <>
      <WaterfallView record={record} rows={rows} scale={scale} small />
      {current && <Selected row={current} record={record} />}
    </>
  );
}

// Selected says the most of one row.
function Selected({ row, record }: { row: Row; record: RunRecord }) {
  const s = timedOf(record).find((s) => s.step === row.step);
  const c = row.call ? s?.calls.find((c) => c.id === row.call) : undefined;
  const f = figuresOf(record, Date.now());
  const last = s?.attempts.at(-1);
  const first = last?.first_at || s?.first || 0;
  return (
    <section class="selected-span" aria-label={`About ${row.name}`}>
      <div class="between"><h2 class="label">{row.name}</h2><Status name={row.state} /></div>
      <dl class="facts">
        {row.step > 0 ? <><dt>Step</dt><dd>{row.step}{row.tries > 1 && `, try ${row.tries}`}</dd></> : <><dt>Steps</dt><dd>{f.steps}</dd></>}
        {row.state !== 'waiting' && <><dt>Took</dt><dd>{took(row.took)}</dd></>}
        {row.waited > 0 && row.step > 0 && <><dt>{row.state === 'waiting' ? 'Waits' : 'Waited'}</dt><dd>{waitText(row).replace(/^wait(ed|s) /, '')}</dd></>}
        {row.kind === 'run' && f.waited > 0 && <><dt>Waited</dt><dd>{took(f.waited)}</dd></>}
        {row.kind === 'model' && !!s?.queued && <><dt>Queue</dt><dd>{took(s.queued)}</dd></>}
        {row.kind === 'model' && last && first > last.began_at && <><dt>First token</dt><dd>after {took(first - last.began_at)}</dd></>}
        {row.kind === 'model' && s?.usage && <><dt>Tokens</dt><dd>{(s.usage.input ?? 0).toLocaleString()} in, {(s.usage.output ?? 0).toLocaleString()} out</dd></>}
        {row.kind === 'model' && s?.failed && <><dt>Failure</dt><dd>{s.failed}</dd></>}
        {row.kind === 'run' && record.error && <><dt>Failure</dt><dd><code>{record.error.code}</code> {record.error.text}</dd></>}
        {c && <><dt>Arguments</dt><dd><code>{oneLine(c.edited ?? c.arguments ?? c.text, 160)}</code></dd></>}
        {c && c.result !== undefined && <><dt>Result</dt><dd><code>{oneLine(c.result, 160)}</code></dd></>}
      </dl>
      <a class="button" href={`#/runs/${record.id}${query(row)}`}><Icon name="list" /> Open the whole run</a>
    </section>
  );
}

function query(row: Row): string {
  const q = new URLSearchParams();
  if (row.step) q.set('step', String(row.step));
  if (row.call) q.set('call', row.call);
  const text = q.toString();
  return text && `?${text}`;
}
