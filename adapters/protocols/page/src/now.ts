import { useEffect, useState } from 'preact/hooks';

// useNow is the time. While something runs, what uses it is drawn again as it goes on.
export function useNow(runs: boolean): number {
  const [, tick] = useState(0);
  useEffect(() => {
    if (!runs) return;
    const timer = setInterval(() => tick((n) => n + 1), 250);
    return () => clearInterval(timer);
  }, [runs]);
  return Date.now();
}
