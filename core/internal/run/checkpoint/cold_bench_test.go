package checkpoint

import (
	"context"
	"fmt"
	"iter"
	"slices"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/store"
)

// records is a log in memory, and no state.
type records []store.Record

func (r records) Log(context.Context, core.ThreadKey, uint64, uint64) iter.Seq2[store.Record, error] {
	panic("it is read forwards")
}

func (r records) LogBackwards(_ context.Context, _ core.ThreadKey, from, to uint64) iter.Seq2[store.Record, error] {
	return func(yield func(store.Record, error) bool) {
		for _, record := range slices.Backward(r[from-1 : to]) {
			if !yield(record, nil) {
				return
			}
		}
	}
}

func (r records) Get(context.Context, core.ThreadKey, string) (store.Record, bool, error) {
	return store.Record{}, false, nil
}

func (r records) Records(context.Context, core.ThreadKey, string, string, int) ([]store.Record, error) {
	return nil, nil
}

// chats is the log of a chat of so many turns.
func chats(tb testing.TB, turns int) (log records) {
	add := func(e thread.Entry) {
		payload, err := thread.Records{}.EncodeEntry(&e)
		if err != nil {
			tb.Fatal(err)
		}
		log = append(log, store.Record{Name: store.LogName(uint64(len(log) + 1)), Payload: payload})
	}
	for i := range turns {
		id := core.ID{byte(i >> 8), byte(i), 1, 2, 3, 4, 5, 6, 7, 8}
		m := core.UserMessage("hello").WithID(id.String() + ".0")
		m.RunID, m.CreatedAt = id, 1_700_000_000_000
		add(thread.Entry{Run: id, Message: &m, Input: id})
		answer := core.Message{
			ID: id.String() + ".1", Role: core.RoleAssistant, Content: []core.Block{{Type: core.BlockText, Text: "You said: hello"}}, RunID: id, Step: 1,
			Usage: &core.Usage{Input: 20 * i, Output: 5}, Model: "demo", Provider: "scripted", StopReason: core.StopEndTurn, CreatedAt: 1_700_000_000_100,
		}
		add(thread.Entry{
			Run: id, Step: 1, At: 1_700_000_000_000, Message: &answer, Attempt: uint64(i), Duration: 40, First: 3, Sum: 77, Prompt: fmt.Sprintf("%032x", 1<<60),
			Totals: &thread.Totals{
				Usage: *answer.Usage, Steps: 1,
				Metered: &thread.Metered{Models: []core.ModelUse{{Provider: "scripted", Model: "demo", Usage: *answer.Usage, Inferences: 1, Millis: 40}}},
			},
			Window: &core.Window{Estimate: 30 * i, Tokens: 20 * i, Prefix: [3]uint32{1, 2, 3}, First: 1},
		})
	}
	return log
}

// BenchmarkColdRead reads a chat whose newest window shows all of it.
func BenchmarkColdRead(b *testing.B) {
	for _, turns := range []int{1_000, 4_000} {
		log := chats(b, turns)
		b.Run(fmt.Sprintf("turns=%d", turns), func(b *testing.B) {
			r := New(Options{Env: env.System(), Store: log})
			head := thread.Head{Seq: uint64(len(log))}
			b.ReportAllocs()
			for b.Loop() {
				c, err := r.Read(b.Context(), At{Key: cacheKey(1), Head: &head}, head.Seq)
				if err != nil || c.Messages.Len() != len(log) {
					b.Fatalf("%v, %d messages", err, c.Messages.Len())
				}
			}
		})
	}
}
