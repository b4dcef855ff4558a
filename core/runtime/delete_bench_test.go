package runtime_test

import (
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/runtime"
)

// BenchmarkDeleteThread deletes one thread among many others, finished ones and children of
// its own.
func BenchmarkDeleteThread(b *testing.B) {
	for _, others := range []int{10, 10_000} {
		for _, kind := range []string{"others", "children"} {
			b.Run(fmt.Sprintf("%s=%d", kind, others), func(b *testing.B) {
				r, err := runtime.New(withDelegate())
				if err != nil {
					b.Fatal(err)
				}
				for i := range others {
					s := submission(fmt.Sprint("other", i), "hello")
					if kind == "children" {
						s.Opening.Parent = &mailbox.Parent{Thread: "t0"}
					}
					if _, err := r.Play(b.Context(), s, nil, nil); err != nil {
						b.Fatal(err)
					}
				}
				n := 0
				for b.Loop() {
					b.StopTimer()
					name := fmt.Sprint("t", n)
					if _, err := r.Play(b.Context(), submission(name, "hello"), nil, nil); err != nil {
						b.Fatal(err)
					}
					n++
					b.StartTimer()
					if err := r.DeleteThread(b.Context(), local, name, mailbox.ChildrenDetach); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
