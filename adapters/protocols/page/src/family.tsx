// The child runs that a call waits for, or has left to the background, as a tree below it.
import type { ShownChild } from './children';
import { count } from './format';
import { Shown } from './hidden';
import { Icon, Status, outcome } from './icons';
import type { RunRecord } from './record';

// Family shows what the runs do that a call of a run has started.
export function Family({ record, call, name, waits }: { record: RunRecord; call: string; name: string; waits: boolean }) {
  const runs = record.children.of(record.id, call);
  if (!waits && runs.every((c) => c.progress.status === 'done')) return null;
  if (!runs.length) return null;
  return <div class="family" role="group" aria-label={`Child runs of ${name}`}><Branch record={record} runs={runs} /></div>;
}

function Branch({ record, runs }: { record: RunRecord; runs: ShownChild[] }) {
  return (
    <ul>
      {runs.map((c) => {
        const below = record.children.of(c.progress.run_id, c.call);
        return <li key={c.progress.run_id}><Line child={c} />{below.length > 0 && <Branch record={record} runs={below} />}</li>;
      })}
    </ul>
  );
}

function Line({ child: { progress: p } }: { child: ShownChild }) {
  return (
    <>
      <p class="family-line">
        <a class="bar-link" href={`#/runs/${p.run_id}`}><Icon name="fork" /><bdi><Shown text={p.agent_id || 'child run'} /></bdi></a>
        <Status name={outcome(p.status, p.termination)} />
        {p.tools?.length ? <span class="meta cut"><Shown text={p.tools.join(', ')} /></span> : null}
        <span class="grow" />
        <span class="meta">{count(p.steps, 'step')}</span>
      </p>
      {p.text && <p class="meta family-text" dir="auto"><Shown text={end(p.text)} prose /></p>}
    </>
  );
}

const shown = 280; // characters of the newest text

// end is the end of a text: it is what was said last.
function end(text: string): string {
  const said = text.trim();
  return said.length > shown ? `…${said.slice(-shown).replace(/^[\udc00-\udfff]/, '')}` : said;
}
