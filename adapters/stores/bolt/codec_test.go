package bolt

import (
	"bytes"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func TestKeysSortAsTheyCount(t *testing.T) {
	key := core.ThreadKey{Tenant: "acme", Thread: "t1"}
	tests := []struct {
		name      string
		got, want string
	}{
		{"head", string(headKey(key)), "acme\x00t1\x00"},
		{"record", string(recordKey(key, "R#1")), "acme\x00t1\x00R#1"},
		{"end of a thread", string(threadEnd(recordKey(key, "R#1"))), "acme\x00t1\x01"},
		{"no thread", string(threadEnd([]byte("acme\x00t1"))), ""},
		{"pointer", string(pointerKey("acme", "a\x00b")), "acme\x00a\x00b"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("key of a %s is %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// The file outlives the program, so these bytes never change within a schema.
func TestValuesAreFixed(t *testing.T) {
	i := item{fence: 300, version: 2, expires: 100, payload: []byte("hi")}
	tests := []struct {
		name      string
		got, want string
	}{
		{"item", string(i.encode([]byte("acme\x00t1\x00R#1"))), "\x02\xf4}\xe2!\xac\x02\x02\xc8\x01hi"},
		{"item under another key", string(i.encode([]byte("acme\x00t2\x00R#1"))), "\x02\xa7\xef\x9eq\xac\x02\x02\xc8\x01hi"},
		{"head", string(encodeHead([]byte("acme\x00t1\x00"), &store.Head{Version: 3})[:8]), "\x03\xa7\xe9\x1bY\x01\x00\x03"},
		{"sum", string(encodeSum(entrySum([]byte("threads"), []byte("acme\x00t1\x00"), []byte("\x02abcdcontent")), 0x0102)), "\x93\x8c\x18b\xae\xfc\xb0\x97\x00\x00\x00\x00\x00\x00\x01\x02"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("%s is stored as %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// Every single bit that changes in a value or its key is found.
func TestAChangedBitIsCorrupt(t *testing.T) {
	key := []byte("acme\x00t1\x00R#1")
	value := item{fence: 300, version: 2, expires: 100, payload: []byte("hi")}.encode(key)
	whole := append(append([]byte{}, key...), value...)
	for bit := range 8 * len(whole) {
		changed := append([]byte{}, whole...)
		changed[bit/8] ^= 1 << (bit % 8)
		if i, err := decodeItem(changed[:len(key)], changed[len(key):]); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("with bit %d of key and value changed decodeItem returns %+v, %v, want code corrupt", bit, i, err)
		}
	}
	for n := range len(value) {
		if i, err := decodeItem(key, value[:n]); core.CodeOf(err) != core.CodeCorrupt {
			t.Errorf("of the first %d bytes decodeItem returns %+v, %v, want code corrupt", n, i, err)
		}
	}
}

func FuzzDecodeItem(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add([]byte("\xac\x02\x02\xc8\x01hi"))
	f.Add(item{fence: 1<<64 - 1, version: 1<<64 - 1, expires: -1 << 63}.encode(nil)[headerSize:])
	f.Fuzz(func(t *testing.T, content []byte) {
		key := []byte("key")
		value := seal(append(make([]byte, headerSize), content...), itemFormat, key)
		i, err := decodeItem(key, value)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("the error %v has code %s, want corrupt", err, core.CodeOf(err))
			}
			return
		}
		if got := expiresOf(value); got != i.expires {
			t.Fatalf("expiresOf returns %d, decodeItem %d", got, i.expires)
		}
		again, err := decodeItem(key, i.encode(key))
		if err != nil || again.fence != i.fence || again.version != i.version || again.expires != i.expires || !bytes.Equal(again.payload, i.payload) {
			t.Fatalf("decoding %x gives %+v, its encoding %+v, %v", content, i, again, err)
		}
	})
}

// Payloads that were read together share memory, up to 16 KiB and as much as was read; none
// reaches another, and an empty one exists.
func TestPayloadsShareMemory(t *testing.T) {
	var shared payloads
	var all [][]byte
	for n := range 400 {
		payload := bytes.Repeat([]byte{byte(n)}, n%100)
		all = append(all, shared.copied(payload))
		payload = append(payload, 0)
		clear(payload) // the file's memory is another afterwards
		if len(shared.free) > 16<<10 {
			t.Fatalf("%d bytes are free", len(shared.free))
		}
	}
	for n, payload := range all {
		if payload == nil || len(payload) != cap(payload) || !bytes.Equal(payload, bytes.Repeat([]byte{byte(n)}, n%100)) {
			t.Errorf("payload %d is %v", n, payload)
		}
	}
	if got := testing.AllocsPerRun(10, func() {
		var shared payloads
		for range 400 {
			shared.copied(all[50])
		}
	}); got > 14 {
		t.Errorf("400 payloads of 50 bytes take %g objects, want at most 14", got)
	}
}
