// The dialogs of the shell: the keys, the palette, and the token.
import { useEffect, useState } from 'preact/hooks';
import { get, reached, token, unlock } from './api';
import { Dialog, closeDialog } from './dialog';
import { help, letters, overlay, switchLetters } from './keys';
import { Icon } from './icons';
import { setTheme, theme, toggleDetails, type Theme } from './layout';
import { agents, threads } from './lists';
import { address } from './route';
import { nameOf } from './sidebar';

export function Help() {
  return (
    <Dialog title="Keys" onClose={() => overlay.value === 'help' && (overlay.value = '')}>
      <table class="keys">
        <tbody>
          {help.map(([keys, what]) => <tr key={keys}><th scope="row"><kbd>{keys}</kbd></th><td>{what}</td></tr>)}
        </tbody>
      </table>
      <label class="inline"><input type="checkbox" checked={letters.value} onChange={(e) => switchLetters(e.currentTarget.checked)} /> use single letters as keys</label>
      <label class="inline">
        Colors{' '}
        <select value={theme.value} onChange={(e) => setTheme(e.currentTarget.value as Theme)}>
          <option value="auto">like the system</option>
          <option value="light">light</option>
          <option value="dark">dark</option>
        </select>
      </label>
    </Dialog>
  );
}

interface Choice {
  name: string;
  about: string;
  act: () => void;
}

function choices(): Choice[] {
  const to = (hash: string) => () => (location.hash = hash);
  return [
    { name: 'New thread', about: 'n', act: to(address({})) },
    { name: 'Waiting', about: 'g w', act: to(address({ view: 'waiting' })) },
    { name: 'Runs', about: 'g r', act: to(address({ view: 'runs' })) },
    { name: 'Agents', about: 'g a', act: to(address({ view: 'agents' })) },
    { name: 'Models', about: 'g m', act: to(address({ view: 'models' })) },
    { name: 'Usage', about: 'g u', act: to(address({ view: 'usage' })) },
    { name: 'Keys', about: '?', act: () => (overlay.value = 'help') },
    { name: 'Show or hide the run', about: '', act: toggleDetails },
    ...(['light', 'dark', 'auto'] as Theme[]).map((t) => ({ name: `Colors: ${t === 'auto' ? 'like the system' : t}`, about: '', act: () => setTheme(t) })),
    ...(agents.value ?? []).map((a) => ({ name: `Agent ${a.id}`, about: a.description ?? '', act: to(address({ view: 'agents', agent: a.id })) })),
    ...(threads.items.value ?? []).map((t) => ({ name: nameOf(t), about: 'thread', act: to(address({ thread: t.thread_id })) })),
  ];
}

export function Palette() {
  const [text, setText] = useState('');
  const [at, setAt] = useState(0);
  const words = text.toLowerCase().split(/\s+/);
  const found = choices().filter((c) => words.every((w) => `${c.name} ${c.about}`.toLowerCase().includes(w))).slice(0, 12);
  const current = Math.min(at, found.length - 1);
  const take = (c: Choice | undefined) => {
    closeDialog();
    overlay.value = '';
    c?.act();
  };
  const keys = (e: KeyboardEvent) => {
    const to = { ArrowDown: current + 1, ArrowUp: current - 1 }[e.key];
    if (to !== undefined) {
      e.preventDefault();
      setAt((to + found.length) % Math.max(1, found.length));
    } else if (e.key === 'Enter') {
      e.preventDefault();
      take(found[current]);
    }
  };
  return (
    <Dialog title="Go to" onClose={() => overlay.value === 'palette' && (overlay.value = '')}>
      <input
        role="combobox" aria-label="Go to" aria-expanded="true" aria-controls="found" aria-activedescendant={found.length ? `found-${current}` : undefined} autocomplete="off" autofocus
        value={text} onInput={(e) => (setText(e.currentTarget.value), setAt(0))} onKeyDown={keys}
      />
      <ul id="found" role="listbox" aria-label="Found" class="found">
        {found.map((c, i) => (
          <li key={`${c.name} ${i}`} id={`found-${i}`} role="option" aria-selected={i === current} class={i === current ? 'selected' : ''} onClick={() => take(c)}>
            <span class="name">{c.name}</span> <span class="meta">{c.about.slice(0, 40)}</span>
          </li>
        ))}
      </ul>
      {found.length === 0 && <p class="meta" role="status">Nothing matches.</p>}
    </Dialog>
  );
}

// Locked asks for the token that the host wants.
export function Locked() {
  const [text, setText] = useState('');
  return (
    <form class="locked" onSubmit={(e) => (e.preventDefault(), unlock(text))}>
      <label>
        {token ? 'The host refused the token. Enter another one' : 'The host requires a token'}
        <input type="password" autocomplete="off" value={text} onInput={(e) => setText(e.currentTarget.value)} />
      </label>
      <button type="submit" class="primary" disabled={!text.trim()}>Use it</button>
      <span class="meta">The page keeps it until you close this tab, and sends it only to this host.</span>
    </form>
  );
}

const patience = 2000; // milliseconds without the host before a person hears of it
const knock = 1000; // between two looks whether it is back

// Gone says, in one place, that the host does not respond, and goes by itself.
export function Gone() {
  const gone = !reached.value;
  const [said, setSaid] = useState(false);
  useEffect(() => {
    if (!gone) return setSaid(false);
    const late = setTimeout(() => setSaid(true), patience);
    const again = setInterval(() => !document.hidden && void get('v1/capabilities').catch(() => {}), knock);
    return () => {
      clearTimeout(late);
      clearInterval(again);
    };
  }, [gone]);
  if (!gone || !said) return null;
  return (
    <div class="gone" role="alert">
      <Icon name="warn" />
      <p><strong>The host does not respond.</strong> Start it with <code>make run</code>, or check your connection. The page continues by itself.</p>
    </div>
  );
}
