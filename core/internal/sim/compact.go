package sim

import (
	"context"
	"fmt"
	"hash/fnv"
	"iter"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/recordname"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/window"
	"github.com/reveille-run/reveille/core/model"
)

// A summary of these worlds is a list of fingerprints, one of each message that it
// replaces, in their order: its reader knows its sources, through all its predecessors.

// compactFrom is the size from which on agents compact, in tokens: some messages.
const compactFrom = 120

// wholeThread is a window that shows every thread as a whole, whatever tokens the models count.
const wholeThread = 1_000_000

// context is what the world's agents show of a thread, and how they compact.
func (sc scripted) context() *agent.ContextWindowPolicy {
	if sc.w.config.Agents.Compacts == "" {
		return &agent.ContextWindowPolicy{MaxContextTokens: wholeThread}
	}
	return &agent.ContextWindowPolicy{
		MaxContextTokens: wholeThread, AutocompactThreshold: compactFrom, Compaction: sc.w.config.Agents.Compacts, CompactionRawSuffixMessages: new(4), MinSavingsRatio: new(0.1),
	}
}

// fingerprint of a paragraph of a transcript.
func fingerprint(paragraph string) string {
	h := fnv.New32a()
	_, _ = h.Write([]byte(paragraph))
	return strconv.FormatUint(uint64(h.Sum32()), 36)
}

// summarize generates the requested summary.
func (m scriptedModel) summarize(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		w := m.w
		h, began := w.current().host, w.now
		c := h.circuit(request.Model)
		if err := h.work(ctx, SiteModel, w.random.between(time.Second, 20*time.Second)); err != nil {
			yield(model.Delta{}, &model.Error{Kind: model.KindTimeout, Message: err.Error()})
			return
		}
		if w.scripted.flaky() && w.random.chance(0.1) {
			kind := model.KindOverloaded
			if w.random.chance(0.3) {
				kind = model.KindFiltered
			}
			failure := &model.Error{Kind: kind, Message: "no summary"}
			c.takes(w, failure, began)
			yield(model.Delta{}, failure)
			return
		}
		text := request.Messages[0].Text()
		var prints []string
		if before := within(text, "previous-summary"); before != "" {
			prints = append(prints, before)
		}
		for _, p := range strings.Split(within(text, "transcript"), "\n\n") {
			prints = append(prints, fingerprint(p))
		}
		if w.config.Trace != nil {
			w.config.Trace("%s: summary %s", h.name, strings.Join(prints, " "))
		}
		if yield(model.Delta{Type: model.DeltaText, Text: strings.Join(prints, " ")}, nil) && yield(model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}, nil) {
			c.takes(w, nil, began)
		}
	}
}

// within is the content of an element of a prompt.
func within(text, element string) string {
	_, rest, _ := strings.Cut(text, "<"+element+">\n")
	found, _, _ := strings.Cut(rest, "\n</"+element+">")
	return found
}

// printsOf is what a summary says of visible messages up to a sequence.
func (lo *logged) printsOf(visible []shown, upTo uint64) string {
	var prints []string
	for _, v := range visible {
		if v.seq > upTo {
			break
		}
		p, _ := window.Transcript(window.History{Messages: []core.Message{*lo.entries[v.seq-1].Message}, Places: []window.Place{{Sequence: v.seq}}}, maxRecord)
		prints = append(prints, fingerprint(p))
	}
	return strings.Join(prints, " ")
}

// summaryAt reads the summary up to a sequence.
func (lo *logged) summaryAt(upTo uint64) (s thread.Summary, ok bool) {
	r, ok := lo.th.p.record(recordname.Summary(upTo))
	if !ok {
		return s, false
	}
	s, err := lo.th.w.checks.DecodeSummary(upTo, r.Payload)
	if err != nil {
		lo.th.fail("the summary up to %d is unreadable: %v", upTo, err)
	}
	return s, true
}

// checkSummary is run at each write of a head: the summary in force is there, is of just
// what readers see up to its turn, and so is each of its predecessors. It is the one that
// the write finds in force, or a new one that follows that: a step that supersedes a range
// may make one of what is left.
func (lo *logged) checkSummary(a, b *thread.Head) {
	if b.Summary == a.Summary && b.Supersedes == a.Supersedes {
		return
	}
	stood := lo.standing(a, b)
	if b.Summary > stood {
		lo.th.w.Stats.Summaries.InForce++
	}
	if b.Summary < a.Summary {
		lo.th.w.Stats.Summaries.Restored++
		if b.Supersedes == a.Supersedes {
			lo.th.fail("the summary in force falls from %d to %d, although nothing was superseded", a.Summary, b.Summary)
		}
	}
	if b.Summary < stood {
		lo.th.fail("after a superseded range the summary up to %d is in force, want %d or a new one that follows it", b.Summary, stood)
	}
	for upTo := b.Summary; upTo > 0; {
		s, ok := lo.summaryAt(upTo)
		switch {
		case !ok:
			lo.th.fail("the summary up to %d does not exist, the head names that up to %d", upTo, b.Summary)
			return
		case s.Skipped != "":
			lo.th.fail("the summary up to %d has no text and was in force", upTo)
		case !lo.closedTurn(upTo):
			lo.th.fail("the summary up to %d does not end with a closed, visible turn", upTo)
		case s.From == 0 && s.Text != lo.printsOf(lo.visible, upTo):
			lo.th.fail("the summary up to %d covers %s, readers see %s", upTo, s.Text, lo.printsOf(lo.visible, upTo))
		}
		if upTo == b.Summary && upTo > stood && a.Exists() && s.Predecessor != stood {
			lo.th.fail("the summary up to %d follows that up to %d, in force was that up to %d", upTo, s.Predecessor, stood)
		}
		upTo = s.Predecessor
	}
}

// standing is the summary that a write finds in force: if the write supersedes a part of
// it, the newest predecessor that ends before that.
func (lo *logged) standing(a, b *thread.Head) uint64 {
	upTo := a.Summary
	if upTo == 0 || b.Supersedes == a.Supersedes {
		return upTo
	}
	for r := lo.entries[b.Supersedes-1].Superseded; upTo > 0 && upTo >= r.From; {
		s, _ := lo.summaryAt(upTo)
		upTo = s.Predecessor
	}
	return upTo
}

// closedTurn reports whether a visible turn ends at the sequence with all its results.
func (lo *logged) closedTurn(seq uint64) bool {
	i := slices.IndexFunc(lo.visible, func(v shown) bool { return v.seq == seq })
	for j := i; j >= 0; j-- {
		if m := lo.entries[lo.visible[j].seq-1].Message; m.Role != core.RoleTool {
			return m.Role == core.RoleAssistant && len(m.ToolCalls) == i-j
		}
	}
	return false
}

// behindSummary takes the summary at the start of a request out of it, and from the
// visible messages those that it replaces. The run's first message may follow it once
// more.
func (lo *logged) behindSummary(messages []core.Message, visible []shown) ([]core.Message, []shown) {
	id, ok := strings.CutPrefix(messages[0].ID, "summary.")
	if !ok {
		if lo.th.p.head.Summary > 0 && len(visible) > 0 && visible[len(visible)-1].seq >= lo.th.p.head.Summary {
			lo.th.fail("a model receives no summary, although that up to %d is in force", lo.th.p.head.Summary)
		}
		return messages, visible
	}
	upTo, err := strconv.ParseUint(id, 10, 64)
	s, found := lo.summaryAt(upTo)
	switch {
	case err != nil || !found:
		lo.th.fail("a model receives a summary that does not exist: %s", messages[0].ID)
		return messages, visible
	case within(messages[0].Text(), "conversation-summary") != s.Text || s.Skipped != "":
		lo.th.fail("a model receives %q as the summary up to %d, which is %+v", messages[0].Text(), upTo, s)
	case s.From == 0 && s.Text != lo.printsOf(visible, upTo):
		lo.th.fail("a model receives a summary of %s up to %d, the log has %s", s.Text, upTo, lo.printsOf(visible, upTo))
	}
	lo.th.w.Stats.Summaries.Shown++
	messages = messages[1:]
	for len(visible) > 0 && visible[0].seq <= upTo {
		if len(messages) > 0 && showing(visible[0].seq, &messages[0]) == visible[0] {
			messages = messages[1:] // the opening
		}
		visible = visible[1:]
	}
	return messages, visible
}

// turnsBefore is how many turns the run has had, by the newest that the request shows:
// its text has the number.
func turnsBefore(messages []core.Message, run core.ID) (n int) {
	for i := len(messages) - 1; i >= 0; i-- {
		if m := &messages[i]; m.RunID == run && m.Role == core.RoleAssistant {
			name, _, _ := strings.Cut(m.Text(), ":")
			if _, err := fmt.Sscan(name[strings.LastIndexByte(name, '.')+1:], &n); err != nil {
				return 0
			}
			return n + 1
		}
	}
	return 0
}
