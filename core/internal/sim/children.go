package sim

import (
	"context"
	"encoding/json"
	"slices"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/tool"
)

// In a world with Children some tools delegate their work to a run on a separate thread,
// and their calls wait for it: child reads its end when it runs again, childresult has it
// as its result. The progress of runs is published there.

// childNames are the tools that a model calls in a world with children, on a thread
// without a parent.
var childNames = []string{"echo", "child", "child", "childresult", "once", "slow", "note"}

// children are what the checks know of them.
type children struct {
	post      post               // messages between threads
	byCall    map[string]*child  // by the key of the call
	byRun     map[core.ID]*child // once they were started
	byThread  map[*threadState]*child
	announced map[string]int  // by id
	ends      map[core.ID]int // ends that were published of a run
	missed    map[string]int  // by thread
	said      map[string]int  // how many of those an announcement has said, by id
}

// child is a run that a call has started; aside: in the background.
type child struct {
	th   *threadState // its thread's
	in   *input
	call tool.Call

	aside   bool
	claimed bool // its run was
	orphan  bool // its parent was over at its first claim
	// relisted: its call has run again, and has listed it after its end was told.
	relisted bool
	told     int // decisions on its call, or inputs, that have its end
	// starting is how many executions of its call start it: one that is repeated finds it,
	// and sends its hint again.
	starting int
}

func (sc scripted) childTools() (list []tool.Tool) {
	if !sc.w.config.Agents.Children {
		return nil
	}
	for _, name := range []string{"child", "childresult"} {
		list = append(list, simTool{sc.w, tool.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}})
	}
	return list
}

// delegate is the work of a tool that delegates to a child; ok reports that it is one.
func (as *asks) delegate(ctx context.Context, name string, call tool.Call, key string) (r tool.Result, ok bool, err error) {
	if name != "child" && name != "childresult" && name != "aside" {
		return r, false, nil
	}
	w := as.th.w
	if end, over := call.ChildEnd(); over {
		if c := w.family.byRun[end.RunID]; c == nil || c.call.Key() != call.Key() {
			as.th.fail("call %s continues with the end of run %s, which is not its child", key, end.RunID)
		}
		return tool.NewResult(key + " " + end.Response), true, nil
	}
	c := w.scripted.childOf(call)
	c.aside = name == "aside"
	c.starting++
	run, err := call.Start(ctx, tool.Child{Agent: c.in.agent, Detached: detaches(call.Key()), Background: c.aside, Messages: []core.Message{core.UserMessage(c.in.text).WithID(c.in.name)}})
	c.starting--
	if err != nil {
		return r, true, err
	}
	as.th.checkCommitted(call, key, "starts a child")
	if !c.in.run.IsZero() && c.in.run != run {
		as.th.fail("call %s has started run %s, and then %s", key, c.in.run, run)
	}
	c.in.run, w.family.byRun[run] = run, c
	as.checkStarted(c, run)
	if c.th.depth > 1 {
		w.did(ChildOfChild)
	}
	if c.aside {
		return tool.NewResult(key), true, nil
	}
	mode := core.ResumeReplay
	if name == "childresult" {
		mode = core.ResumeAsResult
	}
	return tool.AwaitChild(run, mode), true, nil
}

// childOf is the child of a call, with a separate thread.
func (sc scripted) childOf(call tool.Call) *child {
	if c := sc.w.family.byCall[call.Key()]; c != nil {
		return c
	}
	key := core.ThreadKey{Tenant: call.Thread.Tenant, Thread: "child." + strings.ReplaceAll(call.Key(), "/", ".")} // the host's
	th := sc.w.addNamedThread(key, sc.w.partition(call.Thread).state.user)
	th.child, th.depth = true, sc.w.partition(call.Thread).state.depth+1
	c := &child{th: th, in: th.inputs.newInput(mailbox.ModeQueue, sc.w.people.anyAgent()), call: call}
	sc.w.family.byCall[call.Key()], sc.w.family.byThread[th] = c, c
	sc.w.Stats.Clients.Children++
	return c
}

// checkChildTold looks at a decision on a ticket that waits for a child: it has the
// child's end.
func (as *asks) checkChildTold(k *asked, d thread.DecisionRecord) {
	var end core.ChildEnd
	if err := json.Unmarshal(d.Payload, &end); err != nil {
		as.th.fail("the decision on %s names no child: %s", k.ticket.Suspension.ID, d.Payload)
		return
	}
	c := as.th.w.family.byRun[end.RunID]
	if c == nil || k.ticket.Suspension.ID != end.RunID.String() || c.call.Run != k.run {
		as.th.fail("the ticket %s of run %s receives the end of run %s", k.ticket.Suspension.ID, k.run, end.RunID)
		return
	}
	if c.told++; c.told > 1 {
		as.th.fail("the end of child %s is delivered %d times", end.RunID, c.told)
	}
	if c.th.p.head.Deleted {
		return
	}
	final, over := c.th.runs.ended[end.RunID]
	if !over || end.Termination == nil || end.Termination.Type != final.end {
		as.th.fail("the reported end of child %s is %+v, it ended as %q", end.RunID, end.Termination, final.end)
	}
}

// checkFamily: when all is over, no call waits for a child, and each end was published.
func (au *auditor) checkFamily() {
	if !au.w.config.Agents.Children {
		return
	}
	for _, p := range au.w.storage.partitions {
		for _, t := range p.head.Tickets {
			if t.Kind == thread.TicketChild && t.Decision == 0 {
				au.w.fail(p, "call %d still waits for its child: %+v", t.Call, p.head)
			}
		}
		untold := 0
		for run := range p.state.runs.ended {
			if au.w.family.ends[run] == 0 {
				untold++
			}
		}
		if missed := au.w.family.missed[p.key.Thread]; untold > missed {
			au.w.fail(p, "%d ends were never published, %d are reported as missed", untold, missed)
		}
	}
}

// publisher is the world's receiver of announcements, as a process reaches it.
type publisher struct{ host *host }

// Publish implements mailbox.Publisher. While there are faults it fails at times, also
// after it has taken the announcement.
func (p publisher) Publish(ctx context.Context, a mailbox.Announcement) error {
	w := p.host.world
	if err := w.sleep(ctx, w.random.between(5*time.Millisecond, 300*time.Millisecond)); err != nil {
		return err
	}
	faulty := w.now < w.stop && w.config.Faults > 0
	if faulty && w.random.chance(0.2) {
		return store.ErrThrottled
	}
	f := &w.family
	f.announced[a.ID]++
	if more := a.Missed - f.said[a.ID]; more > 0 { // one that is repeated may say more
		f.missed[a.ThreadID] += more
		f.said[a.ID] = a.Missed
	}
	if f.announced[a.ID] > 1 && w.innocent() {
		w.violate("%s is published again, although nothing has failed", a.ID)
	}
	th := w.storage.byKey[core.ThreadKey{Tenant: a.Tenant, Thread: a.ThreadID}].state
	switch final, over := th.runs.ended[a.RunID]; {
	case th.p.head.Deleted: // its records may be gone
		f.ends[a.RunID]++
	case a.Type == mailbox.RunEnded && over && (a.Termination == nil || a.Termination.Type != final.end):
		th.fail("the end of run %s is published as %+v, it ended as %s", a.RunID, a.Termination, final.end)
	case a.Type == mailbox.RunEnded:
		f.ends[a.RunID]++
	case a.Type == mailbox.RunWaiting && !slices.ContainsFunc(a.Tickets, func(t mailbox.AnnouncedTicket) bool { return t.Kind == core.TicketPerson }):
		th.fail("run %s is reported to wait for people, and its tickets are %+v", a.RunID, a.Tickets)
	}
	if faulty && w.random.chance(0.1) {
		return store.ErrThrottled
	}
	return nil
}
