// All runs, newest first, with what they took and how they ended.
import { useEffect } from 'preact/hooks';
import { duration, moment, short } from './format';
import { Head } from './head';
import { Status, outcome } from './icons';
import { agents, poll, runFilter, runs } from './lists';
import { Problem } from './problem';
import { address, route, select } from './route';

const states = [['', 'all'], ['created', 'queued'], ['running', 'running'], ['waiting', 'waiting'], ['done', 'done'], ['failed', 'failed']];

export function RunsView() {
  const { status, agent } = route.value;
  useEffect(() => {
    runFilter.value = { status, agent };
    runs.items.value = undefined;
    void runs.reset();
    return poll(runs);
  }, [status, agent]);
  const items = runs.items.value;
  if (runs.missing.value) return <><Head title="Runs" /><div class="body"><p class="empty">This host lists no runs.</p></div></>;
  return (
    <>
    <Head title="Runs" />
    <div class="body">
      <div class="column wide">
        <div class="filters">
          <label class="inline">
            State{' '}
            <select value={status} onChange={(e) => select({ status: e.currentTarget.value })}>
              {states.map(([name, word]) => <option key={name} value={name}>{word}</option>)}
            </select>
          </label>
          <label class="inline">
            Agent{' '}
            <select value={agent} onChange={(e) => select({ agent: e.currentTarget.value })}>
              <option value="">all</option>
              {agents.value?.map((a) => <option key={a.id} value={a.id}>{a.id}</option>)}
            </select>
          </label>
        </div>
        {runs.problem.value !== undefined && <Problem error={runs.problem.value} />}
        {items?.length === 0 && <p class="empty">{status || agent ? 'No run matches.' : 'No run yet.'}</p>}
        {items && items.length > 0 && (
          <div class="scroll" tabIndex={0} role="group" aria-label="Runs">
            <table class="runs">
              <thead>
                <tr><th scope="col">Run</th><th scope="col">State</th><th scope="col">Agent</th><th scope="col" class="number">Steps</th><th scope="col" class="number">Tokens</th><th scope="col" class="number">Time</th><th scope="col">Started</th></tr>
              </thead>
              <tbody>
                {items.map((r) => (
                  <tr key={r.run_id}>
                    <td><a href={address({ thread: r.thread_id, run: r.run_id })} data-row>{short(r.run_id)}</a></td>
                    <td><Status name={outcome(r.status, r.termination)} /> {r.termination?.code && <code>{r.termination.code}</code>}</td>
                    <td>{r.agent_id}</td>
                    <td class="number">{r.steps}</td>
                    <td class="number">{((r.usage?.input ?? 0) + (r.usage?.output ?? 0)).toLocaleString()}</td>
                    <td class="number">{r.finished_at && r.started_at ? duration(r.finished_at - r.started_at) : ''}</td>
                    <td>{moment(r.created_at)}</td>
                  </tr>
                ))}
              </tbody>
            </table>
          </div>
        )}
        {runs.more.value && <button type="button" onClick={() => void runs.readMore()}>More</button>}
      </div>
    </div>
    </>
  );
}
