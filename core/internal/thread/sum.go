package thread

import (
	"hash/crc32"

	"github.com/reveille-run/reveille/core"
)

// The log has checksums, so that a reader may use a cheaper read that returns old data.
// The log is divided into segments. A segment begins at a turn and ends before the next
// one; the first begins at sequence 1. [Head.TailSum] is the checksum of the newest
// segment, [Entry.Sum] of a turn that of the segment before it. A checksum covers the
// payloads as the store receives them.

// Turn reports whether the entry is a turn, at which a segment of the log begins.
func (e *Entry) Turn() bool { return e.Message != nil && e.Message.Role == core.RoleAssistant }

// PayloadSum is the CRC-32C of a log record's payload.
func PayloadSum(payload []byte) uint32 {
	return crc32.Checksum(payload, crc32.MakeTable(crc32.Castagnoli))
}

// JoinSum returns the checksum of a segment with one more record: sum is that of the
// records before it, 0 for none, and payload is the record's [PayloadSum]. It is never 0.
func JoinSum(sum, payload uint32) uint32 {
	table, joined := crc32.MakeTable(crc32.Castagnoli), ^sum
	for shift := 24; shift >= 0; shift -= 8 { // as crc32.Update with four bytes, which would have to be allocated
		joined = table[byte(joined)^byte(payload>>shift)] ^ joined>>8
	}
	joined = ^joined
	return max(joined, 1) // 0 means that there is none
}

// NextSum returns the [Head.TailSum] after a log record at a sequence. sum is the one before
// the record, and e is its entry. If none is known before the record, it returns 0 up to the
// next turn.
func NextSum(sum uint32, seq uint64, e *Entry, payload []byte) uint32 {
	switch {
	case e.Turn():
		return JoinSum(0, PayloadSum(payload))
	case sum == 0 && seq != 1:
		return 0
	}
	return JoinSum(sum, PayloadSum(payload))
}
