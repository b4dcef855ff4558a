// The parts of the page that compute. Argument: the folder with patch.js and scale.js.
import assert from 'node:assert/strict';
import { pathToFileURL } from 'node:url';
import { report } from './browser.mjs';

const folder = process.argv[2];
const { apply, lines } = await import(pathToFileURL(`${folder}/patch.js`));
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

const diff = (a, b) => lines(a, b).map((l) => l.sign + l.text);

await report({
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
    assert.equal(new Scale([[1000, 2000], [8000, 9000]], [], false).folded, true, 'a host was gone for long');
  },
});
