// Dialogs: the browser's own, so that focus stays inside and Escape closes them.
import type { ComponentChildren } from 'preact';
import { useLayoutEffect, useRef } from 'preact/hooks';

export function Dialog({ title, onClose, children, wide }: { title: string; onClose: () => unknown; children: ComponentChildren; wide?: boolean }) {
  const dialog = useRef<HTMLDialogElement>(null);
  useLayoutEffect(() => { // at once: the next key is meant for it
    const from = document.activeElement as HTMLElement | null;
    dialog.current?.showModal();
    return () => from?.focus?.();
  }, []);
  return (
    <dialog ref={dialog} class={wide ? 'wide' : ''} aria-label={title} onClose={onClose} onClick={(e) => e.target === dialog.current && dialog.current?.close()}>
      <div class="dialog">
        <header>
          <h2>{title}</h2>
          <button type="button" class="small" onClick={() => dialog.current?.close()}>Close</button>
        </header>
        {children}
      </div>
    </dialog>
  );
}

// closeDialog closes the one that is open.
export const closeDialog = () => document.querySelector<HTMLDialogElement>('dialog[open]')?.close();
