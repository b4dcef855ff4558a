// The models: who answers for each, in which order, and what it costs.
import { Head } from './head';
import { agents } from './lists';

export function ModelsView() {
  const models = [...new Set((agents.value ?? []).map((a) => a.model))];
  return (
    <>
      <Head title="Models" />
      <div class="body">
        <div class="column wide">
          <ul>{models.map((m) => <li key={m}>{m}</li>)}</ul>
        </div>
      </div>
    </>
  );
}
