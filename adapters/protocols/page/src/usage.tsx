// What was used, by whom, and what of the limits is left.
import { Head } from './head';

export function UsageView() {
  return (
    <>
      <Head title="Usage" />
      <div class="body">
        <div class="column wide" />
      </div>
    </>
  );
}
