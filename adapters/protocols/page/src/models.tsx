// The models: who answers for each, in which order, at which price. They are those of the
// deployment's program; nothing is changed here.
import { useEffect } from 'preact/hooks';
import { query } from './api';
import { amount, count, duration, money } from './format';
import { Head } from './head';
import { Icon } from './icons';
import { Part, agents, capabilities, poll } from './lists';
import { Problem } from './problem';
import { address } from './route';
import type { Answer } from './types';
import type { Report } from './usage';

const today = () => new Date().toISOString().slice(0, 10);

// spent is what the models did today.
const spent = new Part<Report>(() => `v1/usage${query({ from: today(), to: today(), by: 'model' })}`);

export function ModelsView() {
  useEffect(() => poll(capabilities, spent), []);
  const got = capabilities.value.value;
  const answers = got?.answers;
  return (
    <>
      <Head title="Models" />
      <div class="body">
        <div class="column wide">
          {capabilities.problem.value !== undefined && <Problem error={capabilities.problem.value} />}
          {answers && answers.length > 0 && <Providers answers={answers} />}
          {got && <Models names={(got.models ?? []).filter((name) => !name.startsWith('tool:'))} answers={answers} />}
          {got && !answers && <p class="meta">This deployment does not show which providers respond. The setting <code>REVEILLE_SHOW_MODELS=on</code> shows them.</p>}
        </div>
      </div>
    </>
  );
}

const rowsOf = (provider: string, name?: string) => (spent.value.value?.rows ?? []).filter((r) => r.provider === provider && (name === undefined || r.model === name));

// price is what some rows cost together; null if one of them has no price.
function price(rows: { model_cost_usd: number | null }[]): number | null {
  return rows.reduce<number | null>((sum, r) => (sum === null || r.model_cost_usd === null ? null : sum + r.model_cost_usd), 0);
}

const shown = (usd: number | null) => (usd === null ? 'unknown' : money(usd));

function Providers({ answers }: { answers: Answer[] }) {
  const names = [...new Set(answers.map((a) => a.provider))];
  return (
    <section class="sheet" aria-label="Providers">
      <header><h2>Providers</h2><span class="meta">today (UTC), from the runs themselves</span></header>
      <ul>
        {names.map((provider) => {
          const own = answers.filter((a) => a.provider === provider);
          const rows = rowsOf(provider);
          const calls = rows.reduce((sum, r) => sum + r.inferences, 0);
          const time = rows.reduce((sum, r) => sum + r.model_ms, 0);
          const about = own.every((a) => a.scripted) ? 'no provider: follows your first word' : [...new Set(own.map((a) => a.name))].join(', ');
          return (
            <li key={provider} class="tool-row provider">
              <Icon name="plug" />
              <span class="grow"><strong>{provider}</strong><span class="meta cut">{about}</span></span>
              <span class="meta number">{calls > 0 && `${duration(time / calls)} a call`}</span>
              <span class="meta number wide-only">{calls ? count(calls, 'call') : 'no call'}</span>
              <span class="number">{rows.length > 0 && shown(price(rows))}</span>
            </li>
          );
        })}
      </ul>
    </section>
  );
}

function Models({ names, answers }: { names: string[]; answers?: Answer[] }) {
  const used = (name: string) => (agents.value ?? []).filter((a) => a.model === name);
  const rate = (n: number | null | undefined) => (n === null || n === undefined ? undefined : money(n));
  const all = [...new Set([...names, ...(answers ?? []).map((a) => a.model)])];
  return (
    <section class="sheet" aria-label="Models">
      <header><h2>Models</h2><span class="meta">the names that agents use, and who responds</span></header>
      <div class="in scroll" tabIndex={0} role="group" aria-label="Models">
        <table class="figures">
          <thead>
            <tr>
              <th scope="col">Name</th>{answers && <><th scope="col">Order of attempts</th><th scope="col" class="wide-only">Price per million, in / out</th></>}
              <th scope="col" class="wide-only">Agents</th>{answers && <><th scope="col" class="number wide-only">Tokens today</th><th scope="col" class="number">Cost today</th></>}
            </tr>
          </thead>
          <tbody>
            {all.map((name) => {
              const own = (answers ?? []).filter((a) => a.model === name);
              const rows = own.flatMap((a) => rowsOf(a.provider, a.name));
              return (
                <tr key={name}>
                  <td><strong>{name}</strong></td>
                  {answers && (
                    <>
                      <td>{own.map((a, i) => <span key={i} class="try-order">{i > 0 && <span class="meta">then </span>}{a.scripted ? a.provider : `${a.provider}, ${a.name}`}</span>)}</td>
                      <td class="wide-only">{own.map((a, i) => <span key={i} class="try-order">{a.scripted ? 'none' : rate(a.input_usd_per_million) ? `${rate(a.input_usd_per_million)} / ${rate(a.output_usd_per_million)}` : 'unknown'}</span>)}</td>
                    </>
                  )}
                  <td class="wide-only">{used(name).map((a) => <a key={a.id} class="listed" href={address({ view: 'agents', agent: a.id })}>{a.id}</a>)}</td>
                  {answers && (
                    <>
                      <td class="number wide-only">{amount(rows.reduce((sum, r) => sum + r.tokens.input + r.tokens.output, 0))}</td>
                      <td class="number">{shown(price(rows))}</td>
                    </>
                  )}
                </tr>
              );
            })}
          </tbody>
        </table>
      </div>
    </section>
  );
}
