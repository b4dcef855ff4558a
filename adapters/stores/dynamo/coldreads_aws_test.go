//go:build aws

package dynamo_test

import (
	"fmt"
	"math/rand/v2"
	"os"
	"strings"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/mailbox"
)

// coldReads are what the first step of a new process reads at most, by the size of the
// conversation, which is all shown to the model: messages of about 500 tokens of prose, two a
// run. Before logs were read eventually consistent it was nearly twice as much.
var coldReads = []struct {
	tokens, messages int
	most             float64
}{
	{10_000, 20, 6},
	{32_000, 64, 13.5},
	{100_000, 200, 35},
	{200_000, 400, 66},
}

// TestColdReadsBySize measures them twice: the second process reads what the first has written.
func TestColdReadsBySize(t *testing.T) {
	for i, tt := range coldReads {
		if testing.Short() && i > 1 {
			break
		}
		t.Run(fmt.Sprint(tt.tokens, " tokens"), func(t *testing.T) {
			talk := chatter{calls: always(0), say: prose}
			b := longThread(t, talk, func(t testing.TB, b *bench) {
				b.window = 400_000
				b.restart(t)
				for range tt.messages / 2 {
					b.send(t, mailbox.Submission{Messages: []core.Message{core.UserMessage(prose())}})
					b.step(t)
				}
			})
			b.window = 400_000
			for _, what := range []string{"a cold step", "the next one"} {
				b.submit(t, 1)
				b.restart(t)
				got := b.measure(func() { b.step(t) })
				t.Logf("%s of %d messages: %.1f read units, of the log %+v", what, tt.messages, got.Read, got.Kinds["log"])
				if got.Read > tt.most || got.Read < tt.most*0.7 {
					t.Errorf("%s reads %.1f units, want %.1f at most and at least 70 %% of that; by kind: %+v", what, got.Read, tt.most, got.Kinds)
				}
			}
		})
	}
}

// TestTheDocumentHasTheColdReads compares the table of README.md with them.
func TestTheDocumentHasTheColdReads(t *testing.T) {
	document, err := os.ReadFile("README.md")
	if err != nil {
		t.Fatal(err)
	}
	for _, r := range coldReads {
		if row := fmt.Sprintf("| %d | %d | %g |", r.tokens, r.messages, r.most); !strings.Contains(string(document), row) {
			t.Errorf("README.md does not have the row %s", row)
		}
	}
}

// prose is a text of 2,000 bytes that compresses as text of people does, to about half.
func prose() string {
	var b strings.Builder
	for b.Len() < 2000 {
		for range 1 + rand.IntN(3) {
			b.WriteString([...]string{"ba", "con", "de", "er", "for", "ge", "hi", "in", "ka", "lo", "men", "nu", "or", "pre", "ri", "sta", "ti", "un", "ver", "wo", "al", "th", "is", "ma"}[rand.IntN(24)])
		}
		b.WriteByte(' ')
	}
	return b.String()[:2000]
}
