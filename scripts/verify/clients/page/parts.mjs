// The parts of the page that compute. Argument: the folder with their bundles.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { report } from './browser.mjs';
import { ofChildren } from './children.mjs';
import { written } from './texts.mjs';

const folder = process.argv[2];
const { apply, lines } = await import(pathToFileURL(`${folder}/patch.js`));
const { cleaned, coded, escaped, hiddenIn } = await import(pathToFileURL(`${folder}/characters.js`));
const { Children } = await import(pathToFileURL(`${folder}/children.js`));
const { Scale } = await import(pathToFileURL(`${folder}/scale.js`));

const patches = [
  [{ a: 1 }, [{ op: 'add', path: '/b', value: 2 }], { a: 1, b: 2 }],
  [{ a: 1 }, [{ op: 'replace', path: '/a', value: [1] }], { a: [1] }],
  [{ a: 1, b: 2 }, [{ op: 'remove', path: '/a' }], { b: 2 }],
  [[1, 3], [{ op: 'add', path: '/1', value: 2 }], [1, 2, 3]],
  [[1], [{ op: 'add', path: '/-', value: 2 }], [1, 2]],
  [[1, 2, 3], [{ op: 'replace', path: '/1', value: 9 }], [1, 9, 3]],
  [[1, 2, 3], [{ op: 'remove', path: '/0' }], [2, 3]],
  [{ a: { b: 1 } }, [{ op: 'move', from: '/a/b', path: '/c' }], { a: {}, c: 1 }],
  [{ a: { b: 1 } }, [{ op: 'copy', from: '/a', path: '/c' }, { op: 'add', path: '/c/d', value: 2 }], { a: { b: 1 }, c: { b: 1, d: 2 } }],
  [{ 'x/y': 1, 'm~n': 2 }, [{ op: 'replace', path: '/x~1y', value: 3 }, { op: 'remove', path: '/m~0n' }], { 'x/y': 3 }],
  [{ a: 1 }, [{ op: 'replace', path: '', value: 7 }], 7],
  [{ a: 1 }, [{ op: 'add', path: '/b/c', value: 2 }], { a: 1 }],
  [{ a: 1 }, [{ op: 'test', path: '/a', value: 1 }], { a: 1 }],
];

// What no path leads to: what all objects share.
const strange = [
  [{ op: 'add', path: '/__proto__/polluted', value: 'yes' }],
  [{ op: 'add', path: '/constructor/prototype/polluted', value: 'yes' }],
  [{ op: 'replace', path: '/a/__proto__/polluted', value: 'yes' }],
  [{ op: 'add', path: '/__proto__', value: { polluted: 'yes' } }],
  [{ op: 'add', path: '/constructor', value: 1 }],
  [{ op: 'copy', from: '/a', path: '/__proto__/polluted' }],
  [{ op: 'move', from: '/a', path: '/a/constructor/polluted' }, { op: 'add', path: '/a', value: { b: 1 } }],
  [{ op: 'remove', path: '/__proto__/hasOwnProperty' }],
  [{ op: 'remove', path: '/list/__proto__/push' }],
  [{ op: 'remove', path: '/toString' }],
];

// A text, then what is shown of it as an argument, and in prose where that is another one.
const texts = [
  ['plain ünï 漢字 text\twith\nlines\r\n', null],
  ['a\u202eb', 'a[U+202E right-to-left]b'],
  ['a\u200bb', 'a[U+200B no width]b'],
  ['a\u200b\u200b\u200bb', 'a[U+200B no width ×3]b'],
  ['\u2066x\u2069', '[U+2066 left-to-right isolate]x[U+2069 end of isolate]'],
  ['a\u0000b\u001bc\u007f\u0085\r', 'a[U+0000 null]b[U+001B escape]c[U+007F delete][U+0085 next line][U+000D carriage return]'],
  ['a\u00adb\ufeff\u2060', 'a[U+00AD soft hyphen]b[U+FEFF byte order mark][U+2060 word joiner]'],
  ['a\u2028b\u2029', 'a[U+2028 line separator]b[U+2029 paragraph separator]'],
  ['a\u{e0041}\u{e007f}', 'a[U+E0041 tag A][U+E007F end of tag]'],
  ['a\ud800b', 'a[U+D800 half a character]b'],
  ['a\ufe0fb\u{e0100}', 'a[U+FE0F variation]b[U+E0100 variation]'],
  ['\u3164\u115f\u2800', '[U+3164 filler][U+115F filler][U+2800 blank]'],
  ['❤\ufe0f 1\ufe0f\u20e3', null],
  ['1\ufe0f', '1[U+FE0F variation]'],
  ['👩\u200d👧', '👩[U+200D joiner]👧', '👩\u200d👧'],
  ['👩🏽\u200d❤\ufe0f\u200d👩', '👩🏽[U+200D joiner]❤\ufe0f[U+200D joiner]👩', '👩🏽\u200d❤\ufe0f\u200d👩'],
  ['a\u200db', 'a[U+200D joiner]b'],
  ['می\u200cخواهم', 'می[U+200C non-joiner]خواهم', 'می\u200cخواهم'],
  ['می\u200c\u200cخ', 'می[U+200C non-joiner ×2]خ', 'می\u200c[U+200C non-joiner]خ'],
  ['क्\u200dष', 'क्[U+200D joiner]ष', 'क्\u200dष'],
  ['a\u200cb', 'a[U+200C non-joiner]b'],
  ['葛\u{e0100}', '葛[U+E0100 variation]', '葛\u{e0100}'],
  ['🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}', '🏴[U+E0067 tag g][U+E0062 tag b][U+E0065 tag e][U+E006E tag n][U+E0067 tag g][U+E007F end of tag]', '🏴\u{e0067}\u{e0062}\u{e0065}\u{e006e}\u{e0067}\u{e007f}'],
  ['🏴\u{e0068}\u{e0069}\u{e007f}', '🏴[U+E0068 tag h][U+E0069 tag i][U+E007F end of tag]'],
  ['\u200fש', '[U+200F right-to-left mark]ש'],
];

const diff = (a, b) => lines(a, b).map((l) => l.sign + l.text);

await report({
  ...ofChildren(Children),
  ...(await written(folder)),
  'patches are applied': async () => {
    for (const [before, patch, after] of patches) {
      const kept = structuredClone(before);
      assert.deepEqual(apply(before, patch), after);
      assert.deepEqual(before, kept, 'what was before is changed');
    }
  },
  'no path leads to what objects share': async () => {
    const before = { a: { b: 1 }, list: [1] };
    for (const patch of strange) {
      const after = apply(before, patch);
      assert.deepEqual(after, before, JSON.stringify(patch));
      assert.equal(Object.getPrototypeOf(after), Object.prototype);
      assert.equal({}.polluted, undefined);
      assert.equal(Object.polluted, undefined);
    }
    assert.deepEqual(apply({}, [{ op: 'copy', from: '/toString', path: '/a' }]), { a: null });
  },
  'hidden characters are found': async () => {
    for (const [text, argument, prose] of texts) {
      assert.equal(coded(text), argument ?? text);
      assert.equal(coded(text, true), prose ?? argument ?? text);
    }
    assert.equal(hiddenIn({ 'a\u200b': ['b\u202e\u202e', 1, null, { c: 'd' }] }), 3);
    assert.deepEqual(cleaned({ 'a\u200b': ['b\u202e', 1, null, '👩\u200d👧'] }), { a: ['b', 1, null, '👩👧'] });
    const value = { text: 'a\u202eb❤\ufe0f\u{e0041}' };
    assert.equal(escaped(JSON.stringify(value)), '{"text":"a\\u202eb❤\ufe0f\\udb40\\udc41"}');
    assert.deepEqual(JSON.parse(escaped(JSON.stringify(value))), value);
  },
  'values are compared': async () => {
    assert.deepEqual(diff({ a: 1, b: 2, c: 3 }, { a: 1, b: 5, c: 3 }), [' {', '   "a": 1,', '-  "b": 2,', '+  "b": 5,', '   "c": 3', ' }']);
    assert.deepEqual(diff([1, 2], [1, 2]), [' [', '   1,', '   2', ' ]']);
    assert.deepEqual(diff([1], [1, 2]), [' [', '-  1', '+  1,', '+  2', ' ]']);
  },
  'a wait is folded': async () => {
    const work = [[1000, 2000], [10_000, 11_000]];
    const folded = new Scale(work, [[2000, 10_000]], false);
    assert.equal(folded.folded, true);
    assert.deepEqual([1000, 2000, 6000, 10_000, 11_000].map((t) => folded.at(t)), [[0, 0], [0.5, 0], [0.5, 0.5], [0.5, 1], [1, 1]].map(([part, breaks]) => ({ part, breaks })));
    assert.deepEqual([1000, 2000, 10_000, 11_000].map((t) => folded.left(t)), ['calc(0% + 0px)', 'calc(50% + -14px)', 'calc(50% + 14px)', 'calc(100% + 0px)']);
    assert.equal(folded.width(2000, 10_000), 'calc(0% + 28px)');
    assert.deepEqual(folded.ticks(4).map((t) => t.label), ['0 ms', '500 ms', '1000 ms', '1500 ms']);
    const truly = new Scale(work, [[2000, 10_000]], true);
    assert.deepEqual([1000, 2000, 6000, 11_000].map((t) => truly.left(t)), ['0%', '10%', '50%', '100%']);
    assert.deepEqual(truly.ticks(7).map((t) => `${t.left} ${t.label}`), ['0% 0 s', '20% 2 s', '40% 4 s', '60% 6 s', '80% 8 s']);
    assert.equal(new Scale([[0, 100], [101, 200]], [[100, 101]], false).folded, false, 'a short wait');
    assert.equal(new Scale([[1000, 9000]], [[2000, 8000]], false).folded, false, 'something works meanwhile');
    assert.deepEqual(new Scale([[1000, 2000], [9000, 10_000]], [[4000, 8000]], false).breaks, [[4000, 8000]], 'what comes before and after a wait is work');
    assert.equal(new Scale([[1000, 2000], [8000, 9000]], [], false).folded, true, 'a host was gone for long');
  },
});
