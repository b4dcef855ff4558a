// A text of Markdown that grows: where it can be cut so that what lies before stays as it is.

export interface Growth {
  ends: number[]; // of the pieces that will not change any more
  at: number; // the first line that was not looked at
  fence: string; // the mark of the code block that is open at the left edge; empty: none is
  language: string; // of it
  nested: boolean; // a code block is open further in
  blank: boolean; // the line before was empty
  read: string; // the text as far as it was looked at
}

export const nothing: Growth = { ends: [], at: 0, fence: '', language: '', nested: false, blank: false, read: '' };

const more = /^(\s|[-*+>|]|\d+[.)])/; // a line that may belong to what stands before an empty line

// grow looks at what has come since. A text that does not begin as before begins again.
export function grow(before: Growth, text: string): Growth {
  const g: Growth = text.startsWith(before.read) ? { ...before, ends: [...before.ends] } : { ...nothing, ends: [] };
  const cut = (at: number) => at > (g.ends.at(-1) ?? 0) && g.ends.push(at);
  for (let end = text.indexOf('\n', g.at); end >= 0; end = text.indexOf('\n', g.at)) {
    const line = text.slice(g.at, end);
    const opens = /^(`{3,}|~{3,})\s*([^\s`]*)[^`]*$/.exec(line);
    if (g.fence) {
      if (line.startsWith(g.fence) && line.replaceAll(g.fence[0], '').trim() === '') {
        g.fence = '';
        cut(end + 1);
      }
      g.blank = false;
    } else if (opens && !g.nested) {
      cut(g.at);
      g.fence = opens[1];
      g.language = opens[2];
    } else {
      if (/^ {1,3}(```|~~~)/.test(line)) g.nested = !g.nested;
      if (g.blank && !g.nested && line !== '' && !more.test(line)) cut(g.at);
      g.blank = line === '';
    }
    g.at = end + 1;
  }
  g.read = text.slice(0, g.at);
  return g;
}
