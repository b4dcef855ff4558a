package sim

import (
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/run/live"
	"github.com/reveille-run/reveille/core/store"
)

// follow lets clients follow a run, in worlds where they do: from other processes than the
// one that works on it, and in a world of one process from that.
func (pe *people) follow(th *threadState, in *input) {
	n, within := 2, 8*time.Second
	if in.inline { // its stream is soon over
		n, within = 6, 4*time.Second
	}
	for range n {
		pe.w.at(pe.w.random.between(0, within), func() { pe.reader(th, in, 0) })
	}
}

// tells returns the listener of a client that streams a run: so others hear of it before the
// stream ends.
func (in *input) tells(heard func(core.Event)) func(core.Event) {
	return func(e core.Event) {
		if e.Type == core.EventRunStart {
			in.told = e.RunID
		}
		heard(e)
	}
}

// saidTo returns what is known of what clients have said to a run.
func (ins *inputs) saidTo(id core.ID) (known, inline, live bool) {
	for _, in := range ins.accepted {
		if in.run == id || in.told == id {
			known, inline, live = true, inline || in.inline, live || in.agent == agentShort
		}
	}
	return known, inline, live
}

// heardBefore notes that a client of a follower has words of a turn that is not committed.
func (ins *inputs) heardBefore(id core.ID) {
	ins.th.w.Stats.Streams.Unsaid++
	known, inline, live := ins.saidTo(id)
	switch {
	case ins.th.w.config.Processes.Local:
		ins.th.w.did(HeardInside)
	case known && !live && inline:
		ins.th.w.did(HeardStream)
	case known && !live:
		ins.th.w.did(HeardBackground)
	}
}

// checkAsked: the words of a model are only stored for a reader. A mark is noted, for any
// reader.
func (au *auditor) checkAsked(r store.Record) {
	switch {
	case r.Name == recordname.Follow:
		var mark live.Mark
		if au.w.checks.Decode("follow mark", r.Payload, &mark) == nil {
			au.w.people.asked[mark.Run] = true
		}
	case strings.HasPrefix(r.Name, "E#"):
		id, err := core.ParseID(strings.Split(r.Name, "#")[1])
		if err != nil || au.w.people.asked[id] {
			return
		}
		for _, th := range au.w.threads {
			head := &th.p.head
			if in := th.inputs.accepted[head.Run.Dispatch]; in != nil && head.Run.ID == id && in.agent != agentShort {
				th.fail("%s is stored, although no client follows", r.Name)
			}
		}
	}
}

// wrongMarks are left next to the head of a thread now and then: by followers that are
// long gone, by followers whose clocks go wrong, and invalid ones.
func (pe *people) wrongMarks(th *threadState) {
	for range 3 {
		pe.w.at(pe.w.random.between(0, time.Minute), func() { pe.wrongMark(th) })
	}
}

func (pe *people) wrongMark(th *threadState) {
	head := &th.p.head
	if !head.Open() || head.Claim.Fence == 0 {
		return
	}
	now := epoch.Add(pe.w.now)
	mark := live.Mark{Run: head.Run.ID, Until: now.UnixMilli()}
	switch pe.w.random.below(4) {
	case 0:
		mark.Until -= (10 * time.Minute).Milliseconds()
	case 1:
		mark.Until += time.Hour.Milliseconds()
	case 2:
		mark.Run = core.ID{1}
		mark.Until += live.MarkLife.Milliseconds()
	}
	record, err := mark.Record(pe.w.checks, *head)
	if pe.w.random.chance(0.25) {
		record.Payload = []byte("{}")
	}
	if err == nil && pe.w.put(th.p.key, record) == nil {
		pe.w.did(WrongMark)
	}
}
