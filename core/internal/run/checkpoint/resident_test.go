package checkpoint

import (
	"encoding/json"
	"fmt"
	"runtime"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/state"
)

// stepped is a conversation as runs leave it: each has a question, a call, its result and an
// answer of so many bytes.
func stepped(tb testing.TB, number, runs, bytes int) *Conversation {
	c := Empty(1)
	for run := range runs {
		id, step := core.ID{byte(number), byte(number >> 8), byte(run)}, 0
		say := func(m core.Message) {
			m.ID, m.RunID, m.Step = fmt.Sprint(id, ".", c.Seq), id, step
			e := thread.Entry{Run: id, Step: step, Message: &m}
			if m.Role == core.RoleAssistant {
				m.Model, m.Provider, m.Usage = "scripted", "scripted", &core.Usage{Input: 1, Output: 2}
				e.Totals, e.Window = &thread.Totals{Steps: step}, &core.Window{First: 1}
			}
			b := build(c)
			if err := b.add(&e); err != nil {
				tb.Fatal(err)
			}
			c = b.done(all)
		}
		text := func() []core.Block { return []core.Block{{Type: core.BlockText, Text: strings.Repeat("x", bytes)}} }
		say(core.Message{Role: core.RoleUser, Content: text()})
		step = 1
		say(core.Message{Role: core.RoleAssistant, ToolCalls: []core.ToolCall{{ID: fmt.Sprint("call", number), Name: "echo", Arguments: json.RawMessage(`{"text":"hello"}`)}}})
		say(core.Message{Role: core.RoleTool, ToolResult: &core.ToolResult{CallID: fmt.Sprint("call", number), Name: "echo", Data: json.RawMessage(`{"text":"hello"}`)}})
		step = 2
		say(core.Message{Role: core.RoleAssistant, Content: text()})
	}
	return c
}

// The cache counts what its conversations take of the heap: its limit is one of memory.
func TestTheCacheCountsTheHeap(t *testing.T) {
	for _, tt := range []struct {
		name    string
		threads int
		make    func(i int) *Conversation
	}{
		{"one short run", 1000, func(i int) *Conversation { return stepped(t, i, 1, 11) }},
		{"with its record", 1000, func(i int) *Conversation {
			c := stepped(t, i, 1, 11)
			c.Record = &thread.RunRecord{Models: []core.ModelUse{{Provider: "scripted", Model: "scripted"}}}
			return c
		}},
		{"ten runs", 200, func(i int) *Conversation { return stepped(t, i, 10, 200) }},
		{"a long run", 20, func(i int) *Conversation { return stepped(t, i, 100, 500) }},
		{"long texts", 100, func(i int) *Conversation { return stepped(t, i, 1, 50_000) }},
		{"nothing but a text", 1000, func(i int) *Conversation { return talked(1, 10) }},
		{"a chat that was read", 300, func(i int) *Conversation {
			log := chats(t, 20+i%20)
			head := thread.Head{Seq: uint64(len(log))}
			c, err := New(Options{Env: env.System(), Store: log}).Read(t.Context(), At{Key: cacheKey(i), Head: &head}, head.Seq)
			if err != nil {
				t.Fatal(err)
			}
			return c
		}},
		{"state", 300, func(i int) *Conversation {
			c := stepped(t, i, 1, 11)
			b := build(c)
			var p state.Patch
			for key := range 20 {
				p = append(p, state.Operation{Op: "add", Path: fmt.Sprint("/thread/key", key), Value: fmt.Appendf(nil, `{"n":%d}`, i)})
			}
			if err := b.add(&thread.Entry{Run: c.Run, Revision: 1, Patch: p}); err != nil {
				t.Fatal(err)
			}
			return b.done(all)
		}},
	} {
		c := newCache(1 << 30)
		before := liveHeap()
		for i := range tt.threads {
			c.put(cacheKey(i), tt.make(i))
		}
		took := liveHeap() - before
		t.Logf("%s: %d bytes are counted, %d are taken: %.2f", tt.name, c.used/tt.threads, took/tt.threads, float64(c.used)/float64(took))
		if c.used < took*9/10 || c.used > took*3/2 {
			t.Errorf("%s: %d bytes are counted, %d are taken", tt.name, c.used, took)
		}
		runtime.KeepAlive(c)
	}
}

// liveHeap is how many bytes of the heap are referred to.
func liveHeap() int {
	var memory runtime.MemStats
	runtime.GC()
	runtime.GC() // pools are empty after the second one
	runtime.ReadMemStats(&memory)
	return int(memory.HeapAlloc)
}
