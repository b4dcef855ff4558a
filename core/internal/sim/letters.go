package sim

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/tool"
)

// In a world with Letters some calls send messages to other threads, or to the thread of the run
// that has started theirs; and some start a child in the background, whose end their run reads.

// writes chooses the worlds with letters: most of those with children. Where a tenant has limits,
// messages would be tried for days.
func (c *Config) writes() {
	r := random{mix(c.Seed ^ 0x73)}
	c.Agents.Letters = c.Agents.Children && !c.Accounts.Limited && r.chance(0.8)
	// In more of them than of others a thread is deleted: messages are on their way to it.
	c.People.Deletes = c.People.Deletes || c.Agents.Letters && !c.People.Calm && !c.Processes.Unswept && !c.Programs.Old && r.chance(0.5)
}

// post is what the checks know of the messages between threads.
type post struct {
	byID   map[core.ID]*letter // by the id of its outbox entry
	byText map[string]*letter
	sent   int // so many have got their places in an outbox
}

func newPost() post { return post{byID: map[core.ID]*letter{}, byText: map[string]*letter{}} }

// letter is a message to another thread.
type letter struct {
	id     core.ID
	from   *threadState
	to     string  // a thread
	run    core.ID // the only one that may read it; zero: any
	text   string
	place  int     // among all, by when its outbox has got it
	input  core.ID // that it has become; zero: it is not delivered
	failed bool    // it has left the outbox for the list of failed ones
	tries  uint8   // that the outbox has counted
}

// posts is how long messages to a full thread may be tried: one after the other, each for two and a
// half hours.
func (w *World) posts() time.Duration {
	if w.config.Agents.Letters {
		return 24 * time.Hour
	}
	return 0
}

// mostLetters is how many messages a world sends, but for those of calls that are under way.
const mostLetters = 40

// letterNames are the tools of a world with letters.
var letterNames = []string{"tell", "aside"}

func (sc scripted) letterTools() (list []tool.Tool) {
	if !sc.w.config.Agents.Letters {
		return nil
	}
	for _, name := range letterNames {
		list = append(list, simTool{sc.w, tool.Spec{Name: name, Parameters: json.RawMessage(`{"type":"object"}`)}})
	}
	return list
}

// letterTool is the tool of the call of the name, if that sends messages or starts a child in
// the background; "": it does neither. So it is with all calls of a run that a message has started,
// and with those that come after the most messages: threads would write to each other for ever.
func (sc scripted) letterTool(s script, name string) string {
	if !sc.w.config.Agents.Letters || sc.w.family.post.sent >= mostLetters {
		return ""
	}
	if in := sc.w.threadOf(s.name).inputs.byText[s.name]; in == nil || in.mode == modeLetter {
		return ""
	}
	switch trait(name, 93, 7) {
	case 0, 1:
		return "tell"
	case 2:
		if sc.w.threadOf(s.name).depth < deepest {
			return "aside"
		}
	}
	return ""
}

// mail is the work of a tool that sends messages: two to one thread, one after the other, or more
// than an outbox has places for. Some calls send first what could not be delivered. ok reports that
// it is one.
func (as *asks) mail(ctx context.Context, name string, call tool.Call, key string) (ok bool, err error) {
	if name != "tell" {
		return false, nil
	}
	if trait(key, 97, 3) == 0 {
		if _, err := call.RecoverMessages(ctx, true); err != nil {
			return true, err
		}
	}
	count := 2
	if trait(key, 98, 8) == 0 {
		count = thread.MaxMessages + 2
	}
	for i := range count {
		m := tool.Message{Text: fmt.Sprintf("letter %s.%d", key, i), Name: fmt.Sprintf("n%d", i)}
		child := as.childToWrite(key)
		to := as.receiver(key)
		switch {
		case child != nil:
			m.Child, to = child.in.run, child.th
		case to == nil:
			m.Parent = true
		default:
			m.Thread, m.AgentID = to.p.key.Thread, agents[trait(key, 95, uint64(len(agents)))]
		}
		existed := to != nil && to.p.head.Exists()
		if to == nil { // of a run that a call has started, that call's thread
			existed = as.th.w.family.byThread[as.th].in.run == call.Run
		}
		id, err := call.Send(ctx, m)
		refusal, refused := errors.AsType[*tool.MessageError](err)
		if err == nil || refused {
			as.th.checkCommitted(call, key, "sends a message")
		}
		switch {
		case refused:
			as.checkUnsent(to, m.Child, existed, refusal)
		case err != nil:
			return true, err
		case as.th.w.family.post.byID[id] == nil:
			as.th.fail("call %s has sent the message %s, which no head ever had", key, id)
		}
	}
	return true, nil
}

// receiver is the thread that a call sends messages to; nil: that of the run that has started
// its own.
func (as *asks) receiver(key string) *threadState {
	w := as.th.w
	if as.th.child && trait(key, 94, 3) != 0 {
		return nil
	}
	n := w.config.Threads
	to := w.threads[(as.th.i+1+int(trait(key, 96, uint64(n))))%n]
	if to == as.th {
		to = w.threads[(as.th.i+1)%n]
	}
	return to
}

// childToWrite is the child that a call sends messages to, by the id of its run: the first one of the
// call's thread that was started. nil: it sends them to a thread.
func (as *asks) childToWrite(key string) (first *child) {
	if trait(key, 100, 3) != 0 {
		return nil
	}
	for _, c := range as.th.w.family.byRun {
		if c.call.Thread == as.th.p.key && (first == nil || c.call.Key() < first.call.Key()) {
			first = c
		}
	}
	return first
}

// readsNoMore reports whether a run reads no messages any more: it is closing, or over.
func (th *threadState) readsNoMore(run core.ID) bool {
	status, live := th.p.head.RunStatus(run)
	return !run.IsZero() && (!live || status == core.RunDone)
}

// checkUnsent looks at a refusal to send a message, to a run or to any of the thread: it says what
// is so.
func (as *asks) checkUnsent(to *threadState, run core.ID, existed bool, refusal *tool.MessageError) {
	w := as.th.w
	if to == nil {
		c := w.family.byThread[as.th]
		to = w.partition(c.call.Thread).state
	}
	switch refusal.Code {
	case "recipient_not_found":
		if existed && (run.IsZero() || !to.p.head.Deleted) { // a run of a deleted thread is not found
			as.th.fail("a message to thread %s is refused, since that does not exist", to.p.key.Thread)
		}
	case "recipient_unavailable":
		w.did(LetterUnsent)
		if !to.p.head.Deleted && !to.readsNoMore(run) {
			as.th.fail("a message to thread %s is refused, since that is deleted", to.p.key.Thread)
		}
	case "outbox_full":
		w.did(OutboxFull)
	default:
		as.th.fail("a message to thread %s is refused: %v", to.p.key.Thread, refusal)
	}
}

// waitsLong reports whether a message is tried again half an hour later, or later still: no hint is
// sent so far ahead.
func waitsLong(h *thread.Head) bool {
	return slices.ContainsFunc(owedLetters(h), func(e thread.OutboxEntry) bool { return e.Tries > 2 })
}

// owedLetters are the messages that a head holds.
func owedLetters(h *thread.Head) (list []thread.OutboxEntry) {
	for _, e := range h.Outbox {
		if e.Kind == thread.OutboxMessage {
			list = append(list, e)
		}
	}
	return list
}
