package dynamo

import (
	"fmt"
	"sync"

	"github.com/klauspost/compress/zstd"

	"github.com/reveille-run/reveille/core/store"
)

const (
	packOver    = 512      // bytes; smaller payloads are not worth the time
	maxUnpacked = 16 << 20 // bytes: no payload is larger, and a stored bomb decodes to no more
)

// One encoder and one decoder a process, made at first use: a cold start that
// touches no large payload does not pay for them.
var (
	encoder = sync.OnceValue(func() *zstd.Encoder {
		e, err := zstd.NewWriter(nil,
			zstd.WithEncoderConcurrency(1), zstd.WithEncoderCRC(false),
			zstd.WithLowerEncoderMem(true), zstd.WithWindowSize(256<<10))
		if err != nil {
			panic(err) // the options are constants
		}
		return e
	})
	decoder = sync.OnceValue(func() *zstd.Decoder {
		d, err := zstd.NewReader(nil,
			zstd.WithDecoderConcurrency(1), zstd.WithDecoderMaxMemory(maxUnpacked), zstd.WithDecoderLowmem(true))
		if err != nil {
			panic(err) // the options are constants
		}
		return d
	})
)

// pack compresses a payload over 512 bytes; packed is false when that does not
// make it smaller.
func pack(payload []byte) (stored []byte, packed bool) {
	if len(payload) <= packOver {
		return payload, false
	}
	// Room for half: more is rarely needed, and append grows.
	compressed := encoder().EncodeAll(payload, make([]byte, 0, len(payload)/2))
	if len(compressed) >= len(payload) {
		return payload, false
	}
	return compressed, true
}

func unpack(stored []byte) ([]byte, error) {
	payload, err := decoder().DecodeAll(stored, []byte{})
	if err != nil {
		return nil, fmt.Errorf("%w: decompress %d bytes: %w", store.ErrCorrupt, len(stored), err)
	}
	return payload, nil
}
