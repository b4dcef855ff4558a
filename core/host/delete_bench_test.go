package host_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// BenchmarkDeleteThread deletes a finished thread among many others, in memory, with what it
// holds. Cascade looks for child threads first.
func BenchmarkDeleteThread(b *testing.B) {
	for _, others := range []int{10, 10_000} {
		for _, children := range []mailbox.Children{mailbox.ChildrenDetach, mailbox.ChildrenCascade} {
			b.Run(fmt.Sprintf("others=%d/%s", others, children), func(b *testing.B) {
				r, err := host.InMemory(soloParts())
				if err != nil {
					b.Fatal(err)
				}
				play := func(name string) {
					if _, err := r.Play(b.Context(), submission(name, "hello"), nil, nil); err != nil {
						b.Fatal(err)
					}
				}
				for i := range others {
					play(fmt.Sprint("other", i))
				}
				for n := 0; b.Loop(); n++ {
					b.StopTimer()
					name := fmt.Sprint("t", n)
					play(name)
					b.StartTimer()
					if err := r.DeleteThread(b.Context(), local, name, children); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
