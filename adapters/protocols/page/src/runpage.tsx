// One run, over the whole window. A page of a run is a main element and, beside it or below
// it, an aside with the class side.
import { useEffect } from 'preact/hooks';
import { Details } from './details';
import { follow, recordOf } from './follow';
import { Head } from './head';
import { Icon, Status, outcome } from './icons';
import { threads } from './lists';
import { address } from './route';
import { nameOf } from './sidebar';

// RunPage shows the run of the address #/runs/RUN.
export function RunPage({ run }: { run: string }) {
  const record = recordOf(run);
  record.version.value;
  useEffect(() => void follow(record), [record]);
  const thread = threads.items.value?.find((t) => t.thread_id === record.thread);
  const name = thread ? nameOf(thread) : 'Run';
  return (
    <main class="main" data-pane="main" tabIndex={-1}>
      <Head title={name} hint={run} state={record.events.length > 0 && <Status name={outcome(record.status, record.termination)} />}>
        {record.thread && <a class="button" href={address({ thread: record.thread, run })}><Icon name="chat" /> Chat</a>}
      </Head>
      <Details run={run} thread={record.thread} agent={record.agent} />
    </main>
  );
}
