package thread_test

import (
	"math/rand/v2"
	"strings"
	"testing"
)

// FuzzApply lets the fuzzer steer a world of world_test.go: one byte is one
// choice.
func FuzzApply(f *testing.F) {
	f.Add([]byte("an empty thread"))
	f.Add([]byte{0, 40, 40, 40, 255, 0, 40, 80, 200, 120, 130, 120, 140, 150, 160, 0, 255, 200, 100})
	f.Fuzz(func(t *testing.T, b []byte) {
		choices := &choices{bytes: b, rest: rand.NewPCG(1, 3)}
		w := newWorld(rand.New(choices))
		for n := 0; len(choices.bytes) > 0 && n < 200; n++ {
			w.do(w.change())
			w.now += [...]int64{0, 0, 0, 5, 1_000, 40_000}[w.rand.IntN(6)]
		}
		w.drain()
		if len(w.broken) > 0 {
			t.Fatalf("%s\nafter:\n%v", strings.Join(w.broken, "\n"), w.history[max(0, len(w.history)-12):])
		}
	})
}

// choices is a random source whose first values are given.
type choices struct {
	bytes []byte
	rest  rand.Source
}

func (c *choices) Uint64() uint64 {
	if len(c.bytes) == 0 {
		return c.rest.Uint64()
	}
	b := c.bytes[0]
	c.bytes = c.bytes[1:]
	return uint64(b)<<56 | 1<<55 - 1
}
