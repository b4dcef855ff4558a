package thread_test

import (
	"hash/crc32"
	"math/rand/v2"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/thread"
)

// The check value of CRC-32C is that of RFC 3720, appendix B.4, and of "123456789".
func TestPayloadSumIsCRC32C(t *testing.T) {
	for text, want := range map[string]uint32{"": 0, "123456789": 0xe3069283, string(make([]byte, 32)): 0x8a9136aa} {
		if got := thread.PayloadSum([]byte(text)); got != want {
			t.Errorf("%q has the checksum %08x, want %08x", text, got, want)
		}
	}
}

// Joined are the four bytes of each checksum, the high ones first.
func TestJoinedSums(t *testing.T) {
	random := rand.New(rand.NewPCG(1, 2))
	for range 100 {
		a, b := random.Uint32(), random.Uint32()
		want := crc32.Checksum([]byte{byte(a >> 24), byte(a >> 16), byte(a >> 8), byte(a), byte(b >> 24), byte(b >> 16), byte(b >> 8), byte(b)}, crc32.MakeTable(crc32.Castagnoli))
		if got := thread.JoinSum(thread.JoinSum(0, a), b); got != want {
			t.Errorf("%08x and %08x join to %08x, want %08x", a, b, got, want)
		}
	}
	if got := thread.JoinSum(0, 0xffffffff); got != 0xffffffff {
		t.Errorf("ones join to %08x", got)
	}
	// Four bytes whose checksum is 0: there is always a sum.
	const zero = 0xab9be09b
	if crc32.Checksum([]byte{0xab, 0x9b, 0xe0, 0x9b}, crc32.MakeTable(crc32.Castagnoli)) != 0 {
		t.Fatal("the four bytes have another checksum")
	}
	if got := thread.JoinSum(0, zero); got != 1 {
		t.Errorf("four bytes whose checksum is 0 join to %08x, want 1", got)
	}
}

// A segment begins at a turn. What follows an unknown checksum is unknown up to there.
func TestNextSumByRecord(t *testing.T) {
	turn, user := &thread.Entry{Message: &core.Message{Role: core.RoleAssistant}}, &thread.Entry{Message: &core.Message{Role: core.RoleUser}}
	a, b := thread.JoinSum(0, thread.PayloadSum([]byte("a"))), thread.JoinSum(0, thread.PayloadSum([]byte("b")))
	ab := thread.JoinSum(a, thread.PayloadSum([]byte("b")))
	tests := []struct {
		name    string
		sum     uint32
		seq     uint64
		entry   *thread.Entry
		payload string
		want    uint32
	}{
		{"the first record", 0, 1, user, "a", a},
		{"the first record, a turn", 0, 1, turn, "a", a},
		{"the next one", a, 2, user, "b", ab},
		{"a record without a message", a, 2, &thread.Entry{}, "b", ab},
		{"a turn", a, 2, turn, "b", b},
		{"none is known", 0, 2, user, "b", 0},
		{"a turn where none is known", 0, 2, turn, "b", b},
	}
	for _, tt := range tests {
		if got := thread.NextSum(tt.sum, tt.seq, tt.entry, []byte(tt.payload)); got != tt.want {
			t.Errorf("%s: %08x, want %08x", tt.name, got, tt.want)
		}
	}
}
