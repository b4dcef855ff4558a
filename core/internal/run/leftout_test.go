package run_test

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core/agent"
	"github.com/reveille-run/reveille/core/internal/run/compaction"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

// A summary of more than its model has room for is made of the newest messages. Its
// request and its record say so, whether a step makes it, which has all of them, or who
// reads the log backwards, and also where the newest message takes all the room.
func TestASummaryOfTheNewestMessagesSaysSo(t *testing.T) {
	const said = "[Assistant]: " // and two bytes behind it
	const room = 7428            // 3,500 tokens without the frame, three bytes each
	tests := []struct {
		name string
		turn int // bytes of the newest message
		want string
		from uint64
	}{
		{"all of it", room - 4600, "[User]: question 0 ", 0},
		{"some of it", room - 1000, "[older messages are left out]\n\n[Assistant]: turn 1", 2},
		{"as much as there is room for", room - len(said) - 2, "[older messages are left out]\n\n[Assistant]: yyy", 4},
		{"more than that", room, "[older messages are left out]\n\n[Assistant]: yyy", 4},
	}
	for _, how := range []agent.Compaction{agent.CompactInline, compaction.Background} {
		for _, tt := range tests {
			t.Run(string(how)+" "+tt.name, func(t *testing.T) {
				synctest.Test(t, func(t *testing.T) {
					said, hints, turns := &summaries{}, &compactions{}, 0
					p := compacting(how)
					p.MaxContextTokens, p.MaxOutputTokens, p.AutocompactThreshold, p.CompactionRawSuffixMessages = 4000, 500, 2000, new(0)
					w := newWorld(t, options{context: p, compact: hints.add, model: modelFunc(func(ctx context.Context, r model.Request) iterator {
						if r.Messages[0].ID == "summary" {
							return said.Stream(ctx, r)
						}
						if turns++; turns == 2 {
							return replies(text(strings.Repeat("y", tt.turn)))(ctx, model.Request{})
						}
						return replies(text(fmt.Sprint("turn ", turns)))(ctx, model.Request{})
					})})
					for n, size := range []int{4400, 100, 1000} {
						w.submit(t, key, fmt.Sprint("question ", n, " ", strings.Repeat("x", size)), mailbox.ModeQueue)
						w.finish(t, key, nil)
						hints.follow(t, w.stepper)
					}
					if len(said.asked) != 1 {
						t.Fatalf("%d summaries were made, want one", len(said.asked))
					}
					_, transcript, _ := strings.Cut(said.asked[0], "<transcript>\n")
					if diff := cmp.Diff(tt.want, transcript[:min(len(tt.want), len(transcript))]); diff != "" {
						t.Errorf("the transcript begins (-want +got):\n%s", diff)
					}
					if got := w.summary(t, 4).From; got != tt.from {
						t.Errorf("the record says that it was made from %d on, want %d", got, tt.from)
					}
				})
			})
		}
	}
}
