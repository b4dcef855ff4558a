package run_test

import (
	"bytes"
	"context"
	"fmt"
	"slices"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	"google.golang.org/protobuf/encoding/protowire"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/registry"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
	"github.com/reveille-run/reveille/core/store"
	"github.com/reveille-run/reveille/core/store/storetest"
	"github.com/reveille-run/reveille/core/tool"
)

// members are fields of a level of an entry that an older program does not know.
type members struct {
	numbers []protowire.Number
	parts   map[protowire.Number]members
}

// newMembers are the citations of a text, the content of a result, the limit that a refusal
// taught, and what of a usage was kept for an hour or had a long input.
var newMembers = func() members {
	usage := members{numbers: []protowire.Number{6, 7}}
	use := members{parts: map[protowire.Number]members{3: usage}}
	return members{parts: map[protowire.Number]members{
		5: {parts: map[protowire.Number]members{4: {numbers: []protowire.Number{9}}, 6: {numbers: []protowire.Number{8}}, 9: usage}},
		6: {parts: map[protowire.Number]members{1: usage, 10: {parts: map[protowire.Number]members{1: use}}}},
		7: {numbers: []protowire.Number{11, 12}},
	}}
}()

// unknown is how far the numbers of fields are moved for a program that does not know them.
const unknown = 500

// moved returns an entry whose new fields have other numbers.
func (m members) moved(b []byte, hide bool) []byte {
	type field struct {
		number protowire.Number
		all    []byte
	}
	var fields []field
	for len(b) > 0 {
		number, kind, n := protowire.ConsumeTag(b)
		size := protowire.ConsumeFieldValue(number, kind, b[n:])
		value := b[n : n+size]
		if part, ok := m.parts[number]; ok {
			inner, _ := protowire.ConsumeBytes(value)
			value = protowire.AppendBytes(nil, part.moved(inner, hide))
		}
		switch {
		case hide && slices.Contains(m.numbers, number):
			number += unknown
		case !hide && slices.Contains(m.numbers, number-unknown):
			number -= unknown
		}
		fields = append(fields, field{number, append(protowire.AppendTag(nil, number, kind), value...)})
		b = b[n+size:]
	}
	slices.SortStableFunc(fields, func(a, b field) int { return int(a.number - b.number) })
	var all []byte
	for _, f := range fields {
		all = append(all, f.all...)
	}
	return all
}

// throughOlder is a record as an older program reads it, or as it is stored when that one wrote it.
func throughOlder(r store.Record, hide bool) store.Record {
	switch {
	case len(r.Payload) == 0:
	case r.Payload[0] == '{':
		for _, name := range []string{"cache_write_hour", "long"} {
			from, to := []byte(`"`+name+`":`), []byte(`"newer_`+name+`":`)
			if !hide {
				from, to = to, from
			}
			r.Payload = bytes.ReplaceAll(r.Payload, from, to)
		}
	case strings.HasPrefix(r.Name, "M#"):
		r.Payload = newMembers.moved(r.Payload, hide)
	}
	return r
}

// olderWorld is a program of before the new members, on the store of this one.
func (w *world) olderWorld(t *testing.T, o options) *world {
	t.Helper()
	o = o.complete(t)
	older := &world{store: &backend{Faulty: &storetest.Faulty{Backend: w.store.Backend}}, queue: w.queue, given: &receivedRequests{}, records: o.records}
	older.store.OnRecord = func(_ storetest.Operation, r store.Record) store.Record { return throughOlder(r, true) }
	older.store.OnPut = func(ctx context.Context, key core.ThreadKey, r store.Record) error {
		return w.store.Backend.Put(ctx, key, throughOlder(r, false))
	}
	older.store.OnCommit = func(ctx context.Context, key core.ThreadKey, c store.Commit) (store.Outcome, error) {
		c.Records = slices.Clone(c.Records)
		for i := range c.Records {
			c.Records[i] = throughOlder(c.Records[i], false)
		}
		return w.store.Backend.Commit(ctx, key, c)
	}
	var err error
	if older.box, err = mailbox.New(mailbox.Options{Env: o.env, Store: older.store, Waker: w.queue, Logger: quiet, Records: o.records}); err != nil {
		t.Fatal(err)
	}
	older.stepper = newStepper(t, older, o)
	return older
}

// shown is what a program shows of the log: of each entry what is new, and the events of a run.
func (w *world) shownOf(t *testing.T, receipt mailbox.Receipt) (entries, told []string) {
	t.Helper()
	all, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
	if err != nil {
		t.Fatal(err)
	}
	replayer := history.NewReplayer(w.runRecord(t, receipt.RunID).Run, func(e core.Event) error {
		if e.Type == core.EventTextAnnotations || e.Type == core.EventToolCallDone {
			told = append(told, fmt.Sprintf("%s %d citations %d blocks", e.Type, len(e.Annotations), len(e.Blocks)))
		}
		return nil
	})
	for i := range all {
		e := &all[i]
		line := logLine(e)
		if len(line) > 40 {
			line = line[:8]
		}
		if m := e.Message; m != nil {
			for _, b := range m.Content {
				for _, a := range b.Annotations {
					line += fmt.Sprintf(" cites %s %d-%d", a.URL, a.Start, a.End)
				}
			}
			if m.ToolResult != nil && m.ToolResult.Content != nil {
				line += fmt.Sprintf(" with %s %q", m.ToolResult.Content[0].MediaType, m.ToolResult.Content[0].Data)
			}
			if u := m.Usage; u != nil && u.Input > 1 {
				long := 0
				if u.Long != nil {
					long = u.Long.Input
				}
				line += fmt.Sprintf(" used %d, hour %d, long %d", u.Input, u.CacheWriteHour, long)
			}
		}
		if e.Window != nil && (e.Window.Limit > 0 || e.Window.Known > 0) {
			line += fmt.Sprintf(" limit %d known %d", e.Window.Limit, e.Window.Known)
		}
		entries = append(entries, line)
		if err := replayer.Add(*e); err != nil {
			t.Fatal(err)
		}
	}
	return entries, told
}

// citing is an agent whose model costs more from 200,000 tokens on.
func citing(t *testing.T, m modelFunc, tools []tool.Tool) *registry.Registry {
	t.Helper()
	r, err := registry.New(agent.Parts{
		Models: map[string]agent.ModelBinding{"m": {Model: m, Name: "scripted", Facts: model.Facts{LongInput: 200_000}}},
		Tools:  tools, Specs: []agent.Spec{{ID: "demo", Model: "m"}},
	})
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// citingModel refuses long requests, calls draw and other, and then cites a page.
func citingModel(ctx context.Context, r model.Request) iterator {
	size, last := 0, r.Messages[len(r.Messages)-1]
	for _, m := range r.Messages {
		size += len(m.Text())
	}
	used := model.Delta{Type: model.DeltaUsage, Usage: core.Usage{Input: 300_000, Output: 5, CacheWrite: 100, CacheWriteHour: 60}}
	switch {
	case size > 16_000:
		return func(yield func(model.Delta, error) bool) {
			yield(model.Delta{}, &model.Error{Kind: model.KindOverflow, Message: "too long", Limit: 4_096})
		}
	case strings.HasPrefix(last.Text(), "draw"):
		turn := append([]model.Delta{say("I draw."), cites("https://a.example", 2, 6), used}, calls("draw", "{}", "other", "{}")...)
		return replies(turn)(ctx, model.Request{})
	}
	return replies(text("ok"))(ctx, model.Request{})
}

// Two programs share a thread. The older one does not know citations, files of results, what
// a refusal taught and parts of a usage: it continues the run without them, and what it did
// not know is there afterwards, for the newer one and its readers.
func TestAnOlderProgramContinuesAThreadWithNewMembers(t *testing.T) {
	for _, dies := range []bool{false, true} {
		synctest.Test(t, func(t *testing.T) {
			drawn := 0
			tools := []tool.Tool{
				toolFunc{name: "draw", run: func(context.Context, tool.Call) (tool.Result, error) {
					drawn++
					return tool.NewResult("A dot.").WithFile("image/png", []byte("png")), nil
				}},
				toolFunc{name: "other", run: func(context.Context, tool.Call) (tool.Result, error) { return tool.NewResult("o"), nil }},
			}
			w := newWorld(t, options{agents: citing(t, citingModel, tools)})
			for range 4 {
				w.submit(t, key, strings.Repeat("x", 4_096), mailbox.ModeQueue)
				w.finish(t, key, nil)
			}
			receipt := w.submit(t, key, "draw", mailbox.ModeQueue)
			if dies {
				w.crash(t, commitB)
			} else {
				w.step(t, key)
			}
			var asked model.Request
			older := w.olderWorld(t, options{agents: citing(t, func(ctx context.Context, r model.Request) iterator {
				asked = r
				return citingModel(ctx, r)
			}, tools)})
			older.finish(t, key, nil)
			for _, m := range asked.Messages {
				if m.ToolResult != nil && m.ToolResult.Content != nil {
					t.Errorf("the older program knows %+v", m.ToolResult)
				}
			}
			const x = "user: xx"
			plain := []string{x, "assistant: ok", x, "assistant: ok", x, "assistant: ok", x, "assistant: ok"}
			entries, told := older.shownOf(t, receipt)
			want := append(slices.Clone(plain), "user: draw", "assistant: I draw.[draw {}][other {}] used 300000, hour 0, long 0", `tool: "A dot."`, `tool: "o"`, "assistant: ok")
			if diff := cmp.Diff(want, entries); diff != "" {
				t.Errorf("dies %t: the older program shows (-want +got):\n%s", dies, diff)
			}
			if diff := cmp.Diff([]string{"tool_call_done 0 citations 0 blocks", "tool_call_done 0 citations 0 blocks"}, told); diff != "" {
				t.Errorf("dies %t: it tells (-want +got):\n%s", dies, diff)
			}
			entries, told = w.shownOf(t, receipt)
			want = append(slices.Clone(plain), "user: draw", "assistant: I draw.[draw {}][other {}] cites https://a.example 2-6 used 300000, hour 60, long 300000 limit 0 known 4096",
				`tool: "A dot." with image/png "png"`, `tool: "o"`, "assistant: ok")
			want[7] += " limit 4096 known 0"
			if diff := cmp.Diff(want, entries); diff != "" {
				t.Errorf("dies %t: the newer program shows (-want +got):\n%s", dies, diff)
			}
			if diff := cmp.Diff([]string{"text_annotations 1 citations 0 blocks", "tool_call_done 0 citations 1 blocks", "tool_call_done 0 citations 0 blocks"}, told); diff != "" {
				t.Errorf("dies %t: it tells (-want +got):\n%s", dies, diff)
			}
			if end := w.end(t, key, receipt); end != `done 2 {"type":"natural_end"} "ok"` || drawn != 1 {
				t.Errorf("dies %t: the run is %s, the tool ran %d times", dies, end, drawn)
			}
			w.given = &receivedRequests{}              // the older program's request is made again with the file that it did not send
			sum := w.runRecord(t, receipt.RunID).Usage // as the older program counts: the turn above has all
			if diff := cmp.Diff(core.Usage{Input: 300_000, Output: 5, CacheWrite: 100}, sum); diff != "" {
				t.Errorf("dies %t: the run used (-want +got):\n%s", dies, diff)
			}
		})
	}
}
