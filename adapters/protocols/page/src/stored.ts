// What the host has stored of a run: its record, and its steps as the log has them.
import { Refused, get, query } from './api';
import type { RunRecord } from './record';
import type { Run, StoredStep } from './types';

// readRun reads the record of a run, and returns whether it could. If not, the events alone
// are shown.
export async function readRun(record: RunRecord): Promise<boolean> {
  try {
    record.take(await get<Run>(`v1/runs/${record.id}`));
    return true;
  } catch {
    return false;
  }
}

// settled says that the record of a run which is done is here.
export const settled = (record: RunRecord) => record.run.value?.status === 'done';

interface Page {
  steps: StoredStep[];
  next_cursor: string | null;
}

interface Reading {
  under: Promise<void>;
  again: boolean;
}

const readings = new Map<string, Reading>();
const places = new Map<string, { cursor: string | undefined; before: StoredStep[] }>(); // of the last page

// readSteps reads the steps of a run. While it does, a second call makes it look again at
// its end. What the pages before the last one hold does not change.
export function readSteps(record: RunRecord): Promise<void> {
  const under = readings.get(record.id);
  if (under) {
    under.again = true;
    return under.under;
  }
  const reading: Reading = { under: Promise.resolve(), again: false };
  readings.set(record.id, reading);
  reading.under = (async () => {
    try {
      do {
        reading.again = false;
        await once(record);
      } while (reading.again);
    } catch (e) {
      if (e instanceof Refused && e.status < 500) record.problem.value ??= e;
    } finally {
      readings.delete(record.id);
    }
  })();
  return reading.under;
}

async function once(record: RunRecord): Promise<void> {
  let { cursor, before } = places.get(record.id) ?? { cursor: undefined, before: [] };
  for (;;) {
    const page = await get<Page>(`v1/runs/${record.id}/steps${query({ limit: 200, cursor })}`);
    record.stored.value = [...before, ...page.steps];
    record.touch();
    if (!page.next_cursor) break;
    before = record.stored.value;
    cursor = page.next_cursor;
    places.set(record.id, { cursor, before });
  }
}
