package sim

import "testing"

func BenchmarkWorlds(b *testing.B) {
	n := 0
	for b.Loop() {
		New(Kind(n)).Run()
		n++
	}
}
