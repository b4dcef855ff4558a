// How long an answer has time.
import { useEffect, useState } from 'preact/hooks';
import { moment } from './format';
import { Icon } from './icons';

// left is a time that is left, in one unit.
export function left(ms: number): string {
  if (ms <= 0) return 'time is up';
  const s = Math.ceil(ms / 1000);
  if (s < 60) return `${s} s left`;
  if (s < 3600) return `${Math.floor(s / 60)} min left`;
  if (s < 2 * 86_400) return `${Math.floor(s / 3600)} h left`;
  return `${Math.floor(s / 86_400)} d left`;
}

// Due shows the time that is left until a deadline, or until a call wakes, and how much of it has passed.
export function Due({ from, at, wakes }: { from?: number; at?: number; wakes?: boolean }) {
  const [now, setNow] = useState(Date.now());
  const near = !!at && at - now < 120_000;
  useEffect(() => {
    if (!at) return;
    const timer = setInterval(() => setNow(Date.now()), near ? 1000 : 20_000);
    return () => clearInterval(timer);
  }, [at, near]);
  if (!at) return null;
  const passed = from && at > from ? Math.min(100, Math.max(0, ((now - from) / (at - from)) * 100)) : 100;
  return (
    <span class="due" title={`Until ${moment(at)}; then the ${wakes ? 'call continues without an answer' : 'run ends'}.`}>
      <Icon name="clock" />
      <strong>{left(at - now)}</strong>
      <svg aria-hidden="true" width="48" height="4"><rect class="of" width="48" height="4" /><rect class="passed" width={(passed * 48) / 100} height="4" /></svg>
    </span>
  );
}
