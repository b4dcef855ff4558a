// What is done with several calls of one tool.
import { useState } from 'preact/hooks';
import { useEscape } from './escape';
import { focusOnce } from './focus';
import { Shown } from './hidden';
import type { Approval } from './types';

interface Properties {
  items: Approval[];
  busy: boolean;
  onApprove: () => void;
  onDeny: (reason: string) => void;
  onClear: () => void;
}

// BatchBar decides all that are selected, with one decision each.
export function BatchBar({ items, busy, onApprove, onDeny, onClear }: Properties) {
  const [denying, setDenying] = useState(false);
  const [reason, setReason] = useState('');
  useEscape(denying, () => setDenying(false));
  const n = items.length;
  return (
    <div class="batch" role="group" aria-label="Selected">
      <strong>{n} selected</strong>
      <span class="meta">{n > 1 && `${n === 2 ? 'both' : 'all'} `}<Shown text={items[0].tool_name} /></span>
      <span class="grow" />
      {denying ? (
        <form class="deny" onSubmit={(e) => (e.preventDefault(), onDeny(reason.trim()))}>
          <label>
            Reason, which the model reads
            <input value={reason} dir="auto" ref={focusOnce} onInput={(e) => setReason(e.currentTarget.value)} />
          </label>
          <div class="actions">
            <button type="submit" class="danger" disabled={busy}>Deny {n}</button>
            <button type="button" onClick={() => setDenying(false)}>Back</button>
          </div>
        </form>
      ) : (
        <>
          <button type="button" class="primary" data-key="A" disabled={busy} onClick={onApprove}>Approve {n} <kbd aria-hidden="true">Shift a</kbd></button>
          <button type="button" data-key="D" disabled={busy} onClick={() => setDenying(true)}>Deny {n}… <kbd aria-hidden="true">Shift d</kbd></button>
          <button type="button" class="plain" onClick={onClear}>Clear <kbd aria-hidden="true">Esc</kbd></button>
        </>
      )}
    </div>
  );
}
