package sim

import (
	"encoding/binary"
	"time"
)

// random is a splitmix64 generator: small, and the same in every version of Go.
type random struct{ state uint64 }

func (r *random) next() uint64 {
	r.state += 0x9e3779b97f4a7c15
	return mix(r.state)
}

// mix scatters the bits of x.
func mix(x uint64) uint64 {
	x = (x ^ x>>30) * 0xbf58476d1ce4e5b9
	x = (x ^ x>>27) * 0x94d049bb133111eb
	return x ^ x>>31
}

// below draws from [0, n).
func (r *random) below(n int) int { return int(r.next() % uint64(n)) }

// chance is true with probability p.
func (r *random) chance(p float64) bool { return float64(r.next()>>11)/(1<<53) < p }

// between draws from [from, to).
func (r *random) between(from, to time.Duration) time.Duration {
	return from + time.Duration(r.next()%uint64(to-from))
}

func (r *random) fill(b []byte) {
	var word [8]byte
	for len(b) > 0 {
		binary.LittleEndian.PutUint64(word[:], r.next())
		b = b[copy(b, word[:]):]
	}
}

// shuffle returns the numbers below n in a random order.
func (r *random) shuffle(n int) []int {
	order := make([]int, n)
	for i := range order {
		j := r.below(i + 1)
		order[i], order[j] = order[j], i
	}
	return order
}

// trait is a property that follows from what has the name: the same in every
// attempt, and independent of the other traits of the same name.
func trait(name string, which, of uint64) uint64 {
	h := uint64(14695981039346656037)
	for i := range len(name) {
		h = (h ^ uint64(name[i])) * 1099511628211
	}
	return mix(h+which*0x9e3779b97f4a7c15) % of
}
