package bolt

import (
	"bytes"
	"testing"

	"github.com/reveille-run/reveille/core"
)

func TestKeysSortAsTheyCount(t *testing.T) {
	key := core.ThreadKey{Tenant: "acme", Thread: "t1"} // of shard 7
	tests := []struct {
		name      string
		got, want string
	}{
		{"thread", string(threadKey(key)), "acme\x00t1"},
		{"record", string(recordKey(key, "R#1")), "acme\x00t1\x00R#1"},
		{"pointer", string(pointerKey("acme", "a\x00b")), "acme\x00a\x00b"},
		{"due", string(dueKey(key, 0x0102)), "\x07\x00\x00\x00\x00\x00\x00\x01\x02acme\x00t1"},
		{"expiry", string(expiryKey(0x0102, 'p', []byte("acme\x00run"))), "\x00\x00\x00\x00\x00\x00\x01\x02pacme\x00run"},
	}
	for _, tt := range tests {
		if tt.got != tt.want {
			t.Errorf("key of a %s is %q, want %q", tt.name, tt.got, tt.want)
		}
	}
}

// The file outlives the program, so these bytes never change.
func TestItemBytesAreFixedForGood(t *testing.T) {
	i := item{fence: 300, step: 2, expires: 100, payload: []byte("hi")}
	if got, want := i.encode(), []byte("\x01\xac\x02\x02\xc8\x01hi"); !bytes.Equal(got, want) {
		t.Errorf("item is stored as %q, want %q", got, want)
	}
}

func FuzzDecodeItem(f *testing.F) {
	f.Add([]byte{})
	f.Add([]byte{1})
	f.Add([]byte("\x01\xac\x02\x02\xc8\x01hi"))
	f.Add(item{fence: 1<<64 - 1, step: 1<<32 - 1, expires: -1 << 63}.encode())
	f.Fuzz(func(t *testing.T, b []byte) {
		i, err := decodeItem(b)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("the error %v has code %s, want corrupt", err, core.CodeOf(err))
			}
			return
		}
		again, err := decodeItem(i.encode())
		if err != nil || again.fence != i.fence || again.step != i.step || again.expires != i.expires || !bytes.Equal(again.payload, i.payload) {
			t.Fatalf("decoding %x gives %+v, its encoding %+v, %v", b, i, again, err)
		}
	})
}

func FuzzParseDueKey(f *testing.F) {
	f.Add([]byte("\x07\x00\x00\x00\x00\x00\x00\x01\x02acme\x00t1"))
	f.Add([]byte("\x07\x00\x00\x00\x00\x00\x00\x01\x02"))
	f.Fuzz(func(t *testing.T, b []byte) {
		at, key, err := parseDueKey(b)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("the error %v has code %s, want corrupt", err, core.CodeOf(err))
			}
			return
		}
		if again := dueKey(key, at); !bytes.Equal(again[1:], b[1:]) {
			t.Fatalf("key %x names %s at %d, whose key is %x", b, key, at, again)
		}
	})
}

func FuzzParseExpiryKey(f *testing.F) {
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x01\x02pacme\x00run"))
	f.Add([]byte("\x00\x00\x00\x00\x00\x00\x01\x02x"))
	f.Fuzz(func(t *testing.T, b []byte) {
		expires, of, key, err := parseExpiryKey(b)
		if err != nil {
			if core.CodeOf(err) != core.CodeCorrupt {
				t.Fatalf("the error %v has code %s, want corrupt", err, core.CodeOf(err))
			}
			return
		}
		if again := expiryKey(expires, of, key); expires >= 0 && !bytes.Equal(again, b) {
			t.Fatalf("key %x is encoded again as %x", b, again)
		}
	})
}
