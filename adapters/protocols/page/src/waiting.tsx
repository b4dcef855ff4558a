// Everything that waits for a decision, longest first.
import { ago, moment, short } from './format';
import { Head } from './head';
import { approvals } from './lists';
import { Problem } from './problem';
import { address } from './route';
import { TicketCard, ofTicket } from './ticket';

export function WaitingView() {
  const items = approvals.items.value;
  return (
    <>
    <Head title="Waiting" />
    <div class="body">
      <div class="column">
        {approvals.problem.value !== undefined && <Problem error={approvals.problem.value} />}
        {items?.length === 0 && <p class="empty">Nothing waits for you. Calls that need an answer appear here and in their chat.</p>}
        {items?.map((a) => (
          <div key={a.suspension_id} class="waiting-item">
            <p class="meta">
              <a href={address({ thread: a.thread_id, run: a.run_id })}>Thread {short(a.thread_id)}</a> · {a.agent_id} ·{' '}
              <time dateTime={new Date(a.created_at).toISOString()} title={moment(a.created_at)}>waits since {ago(a.created_at, Date.now())}</time>
            </p>
            <TicketCard waiting={ofTicket(a.run_id, a, a.agent_id)} after={() => {}} onDecided={() => setTimeout(() => void approvals.read(), 400)} />
          </div>
        ))}
        {approvals.more.value && <button type="button" onClick={() => void approvals.readMore()}>More</button>}
      </div>
    </div>
    </>
  );
}
