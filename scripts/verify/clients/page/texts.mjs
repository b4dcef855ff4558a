// Code that is told apart, and texts that grow.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';

// What each language comes to: kinds in angle brackets, by their first letter.
const code = [
  ['json', '{"a": [1, true, "x\\"y"], "b":-2.5e3}', '{<k:"a">: [<n:1>, <n:true>, <t:"x\\"y">], <k:"b">:<n:-2.5e3>}'],
  ['go', 'func f(n int) string { return "a" /* x\ny */ + `raw\n"` } // end', '<k:func> f(n <k:int>) <k:string> { <k:return> <t:"a"> <n:/* x\ny */> + <t:`raw\n"`> } <n:// end>'],
  ['sql', "select a from b where c = 'it''s' and n=0 -- six\nORDER BY x", "<k:select> a <k:from> b <k:where> c = <t:'it''s'> <k:and> n=<n:0> <n:-- six>\n<k:ORDER> <k:BY> x"],
  ['sh', 'make run | grep "x \\" y" $A a#b # look', 'make run | grep <t:"x \\" y"> <t:$A> a#b <n:# look>'],
  ['diff', '--- a\n+++ b\n@@ -1 +1 @@\n-old\n+new\n same', '<n:--- a\n+++ b\n><k:@@ -1 +1 @@\n><o:-old\n><i:+new\n> same'],
  ['python', 'def f(): pass', 'def f(): pass'],
  ['constructor', 'x', 'x'],
];

// What a part leaves open for the next one.
const open = [
  ['go', 'a /* x', ' */'],
  ['go', '`raw', ' `'],
  ['go', '`', ' `'],
  ['go', '"one line', ''],
  ['sql', "'it''", " '"],
  ['sh', '"a \\"', '\\"'],
  ['json', '{"a": "', ''],
];

const grown = [
  ['para one\n\n- a\n\n- b\n\npara two\n```go\nx := 1\n\ny\n```\nafter\n\n1. x\n', ['para one\n\n- a\n\n- b\n\n', 'para two\n', '```go\nx := 1\n\ny\n```\n'], 'after\n\n1. x\n'],
  ['- a\n  ```\n  x\n\n  y\n  ```\n\nb\n', ['- a\n  ```\n  x\n\n  y\n  ```\n\n'], 'b\n'],
  ['````md\n```\n````\nend', ['````md\n```\n````\n'], 'end'],
];

export async function written(folder) {
  const { highlight, parts } = await import(pathToFileURL(`${folder}/highlight.js`));
  const { grow, nothing } = await import(pathToFileURL(`${folder}/growing.js`));
  const shown = (pieces) => pieces.map((p) => (p.kind ? `<${p.kind[0]}:${p.text}>` : p.text)).join('');
  return {
    'code is told apart by kind': async () => {
      for (const [language, text, want] of code) assert.equal(shown(highlight(text, language)[0]), want, language);
      for (const [language, text, want] of open) assert.equal(highlight(text, language)[1], want, `${language} ${text}`);
      assert.deepEqual(highlight('y */ b', 'go', ' */'), [[{ kind: 'note', text: 'y */' }, { kind: '', text: ' b' }], '']);
    },
    'code in parts is the same as whole': async () => {
      const text = 'a /* note\n'.repeat(300) + '*/ func "x"\n'.repeat(300);
      let state = '';
      let inParts = '';
      for (const part of parts(text)) {
        const [pieces, after] = highlight(part, 'go', state);
        state = after;
        inParts += pieces.map((p) => p.text).join('');
      }
      assert.equal(inParts, text);
      assert.ok(parts(text).length > 2);
      assert.equal(state, highlight(text, 'go')[1]);
    },
    'a text that grows is cut where it will not change': async () => {
      for (const [text, ends, tail] of grown) {
        let g = nothing;
        for (let i = 1; i <= text.length; i++) g = grow(g, text.slice(0, i));
        assert.deepEqual(g.ends.map((e, i) => text.slice(g.ends[i - 1] ?? 0, e)), ends);
        assert.equal(text.slice(g.ends.at(-1) ?? 0), tail);
        assert.deepEqual(grow(g, 'another text\n').ends, []);
      }
    },
  };
}
