// What is known of child runs, by the events of their parent's stream.
import assert from 'node:assert/strict';

const run = (id, parent = 'root', call = 'c1') => ({ run_id: id, thread_id: `t-${id}`, agent_id: id, parent_run_id: parent, parent_call_id: call });

// shows is a snapshot of a child run; by is the call of the stream's run.
const shows = (child, status, by = 'c1') => ({ event_type: 'activity_snapshot', activity_type: 'agent_run', child, id: by, content: { ...child, status, steps: 0 } });
const asks = (child, suspension) => ({ event_type: 'tool_call_suspended', child, id: `call-${suspension}`, ticket: { suspension_id: suspension, tool_call_id: `call-${suspension}`, kind: 'person' } });
const goesOn = (event_type, child, suspension) => ({ event_type, child, id: `call-${suspension}` });

const a = run('a');
const b = run('b', 'a', 'c9');

// What comes in the order of a stream, and which suspensions are open then. A text is what the
// stream itself does: joined, ended, done, or the result of the call c1.
const cases = {
  'a question': [[shows(a, 'running'), asks(a, 's1'), shows(a, 'waiting')], ['s1']],
  'a question is repeated': [[shows(a, 'waiting'), asks(a, 's1'), 'joined', shows(a, 'waiting'), asks(a, 's1'), 'ended'], ['s1']],
  'two questions': [[shows(a, 'waiting'), asks(a, 's1'), asks(a, 's2')], ['s1', 's2']],
  'one of two is decided': [[shows(a, 'waiting'), asks(a, 's1'), asks(a, 's2'), goesOn('tool_call_resumed', a, 's1')], ['s2']],
  'one of two has its result': [[shows(a, 'waiting'), asks(a, 's1'), asks(a, 's2'), goesOn('tool_call_done', a, 's2')], ['s1']],
  'it is decided between two responses': [[shows(a, 'waiting'), asks(a, 's1'), 'joined', shows(a, 'running'), shows(a, 'running')], []],
  'nothing is known of it yet': [[shows(a, 'waiting'), asks(a, 's1'), 'joined', shows(a, 'running')], ['s1']],
  'it is not repeated until the response ends': [[shows(a, 'waiting'), asks(a, 's1'), 'joined', 'ended'], []],
  'the child run is over': [[shows(a, 'waiting'), asks(a, 's1'), shows(a, 'done')], []],
  'the run is over': [[shows(a, 'waiting'), asks(a, 's1'), 'done'], []],
  'the call has its result': [[shows(a, 'waiting'), asks(a, 's1'), shows(b, 'waiting'), asks(b, 's2'), 'result'], []],
  'another activity': [[{ event_type: 'activity_snapshot', activity_type: 'tool_progress', child: a, content: {} }], []],
};

export const ofChildren = (Children) => ({
  'what child runs ask': async () => {
    for (const [name, [events, open]] of Object.entries(cases)) {
      const children = new Children();
      for (const e of events) {
        if (typeof e === 'object') children.add(e);
        else if (e === 'joined') children.joined();
        else if (e === 'result') children.result('c1');
        else children.ended(e === 'done');
      }
      assert.deepEqual(children.tickets.map((t) => t.suspension_id), open, name);
      assert.equal(children.asking('c1'), open.length > 0, name);
      assert.equal(children.asking('c2'), false, name);
    }
  },
  'the tree of child runs': async () => {
    const children = new Children();
    for (const e of [shows(a, 'waiting'), shows(b, 'waiting'), asks(b, 's1'), shows(run('c', 'root', 'c2'), 'running', 'c2')]) children.add(e);
    const ids = (...of) => children.of(...of).map((c) => c.progress.run_id);
    assert.deepEqual([ids('root', 'c1'), ids('root', 'c2'), ids('a', 'c1'), ids('a', 'c9')], [['a'], ['c'], ['b'], []]);
    assert.deepEqual(children.tickets.map((t) => [t.run_id, t.agent_id, t.parent_run_id]), [['b', 'b', 'a']]);
    assert.equal(children.asking('c1'), true);
  },
  'an answer is read': async () => {
    const children = new Children();
    children.add(shows(a, 'waiting'));
    children.add(shows(b, 'waiting'));
    children.add(asks(b, 's1'));
    assert.deepEqual([children.waits('s1'), children.waits('s2')], [true, false]);
    children.add(goesOn('tool_call_resumed', b, 's1'));
    assert.equal(children.waits('s1'), true, 'nobody has taken it up');
    children.add(shows(b, 'running'));
    assert.equal(children.waits('s1'), false);
    children.add(shows(b, 'done'));
    assert.equal(children.waits('s1'), true, 'its parent has not read its end');
    children.add(shows(a, 'done'));
    assert.equal(children.waits('s1'), false);
  },
});
