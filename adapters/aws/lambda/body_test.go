package lambda

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"io"
	"net/http"
	"runtime"
	"strings"
	"testing"
	"testing/iotest"
	"unicode/utf8"
)

// sent is an event with a body of a client.
func sent(body string, encoded bool) json.RawMessage {
	if encoded {
		body = base64.StdEncoding.EncodeToString([]byte(body))
	}
	var text bytes.Buffer
	encoder := json.NewEncoder(&text)
	encoder.SetEscapeHTML(false)
	_ = encoder.Encode(body)
	event := `{"version":"2.0","rawPath":"/v1/runs","headers":{"content-type":"application/json"},"requestContext":{"http":{"method":"POST"}},"isBase64Encoded":`
	if encoded {
		return json.RawMessage(event + `true,"body":` + text.String() + `}`)
	}
	return json.RawMessage(event + `false,"body":` + text.String() + `}`)
}

func requestOf(t *testing.T, event json.RawMessage) *http.Request {
	t.Helper()
	e, err := readHTTPEvent(event, doorURL)
	if err != nil {
		t.Fatal(err)
	}
	r, err := e.request(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func TestBodiesArriveAsTheyWereSent(t *testing.T) {
	tests := []struct{ name, body string }{
		{"none", ""},
		{"a byte", "a"},
		{"two bytes", "ab"},
		{"three bytes", "abc"},
		{"JSON", `{"text":"a \"quote\", a \\ and a /"}`},
		{"every control character", "\x00\x01\x1f\b\f\n\r\t\x7f"},
		{"characters of every length", "aé語😀\u2028"},
		{"a replacement character", "\ufffd"},
		{"quotes", strings.Repeat(`"`, 5000)},
		{"a backslash at each end", `\a\`},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			for _, encoded := range []bool{false, true} {
				event := sent(tt.body, encoded)
				r := requestOf(t, event)
				got, err := io.ReadAll(r.Body)
				if err != nil || string(got) != tt.body || r.ContentLength != int64(len(tt.body)) {
					t.Errorf("base64 %t: %q of %d bytes, error %v; want %q", encoded, got, r.ContentLength, err, tt.body)
				}
				if got, err = io.ReadAll(iotest.OneByteReader(requestOf(t, event).Body)); err != nil || string(got) != tt.body {
					t.Errorf("base64 %t, bytewise: %q, error %v; want %q", encoded, got, err, tt.body)
				}
			}
		})
	}
}

func TestBodiesOfOtherForms(t *testing.T) {
	const event = `{"httpMethod":"POST","path":"/","isBase64Encoded":`
	tests := []struct {
		name, event, want string
		length            int64
	}{
		{"null", `false,"body":null}`, "", 0},
		{"absent", `true}`, "", 0},
		{"an escaped slash in base64", `true,"body":"Pz8\/"}`, "???", 3},
		{"half a pair", `false,"body":"a\ud83db\ude00"}`, "a\ufffdb\ufffd", 8},
		{"a pair in capitals", `false,"body":"\uD83D\uDE00"}`, "😀", 4},
		{"half a pair before another escape", `false,"body":"\ud83d\u0041"}`, "\ufffdA", 4},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			r := requestOf(t, json.RawMessage(event+tt.event))
			if got, err := io.ReadAll(r.Body); err != nil || string(got) != tt.want || r.ContentLength != tt.length {
				t.Errorf("%q of %d bytes, error %v; want %q of %d", got, r.ContentLength, err, tt.want, tt.length)
			}
		})
	}
	if _, err := readHTTPEvent(json.RawMessage(event+`false,"body":5}`), doorURL); err == nil {
		t.Error("a body that is a number is accepted")
	}
	r := requestOf(t, json.RawMessage(event+`true,"body":"ab*="}`))
	if got, err := io.ReadAll(r.Body); err == nil {
		t.Errorf("a wrong character of base64 is read as %q", got)
	}
}

// A request takes no memory of its body's size: the event is the only copy until a handler
// reads the body.
func TestABodyIsNotCopied(t *testing.T) {
	const size = 4 << 20
	bodies := map[string]string{"letters": strings.Repeat("a", size), "quotes": strings.Repeat(`"`, size), "many bytes a character": strings.Repeat("語", size/3) + "a"}
	for name, body := range bodies {
		for _, encoded := range []bool{false, true} {
			event := sent(body, encoded)
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			r := requestOf(t, event)
			n, err := io.Copy(io.Discard, r.Body)
			runtime.ReadMemStats(&after)
			if err != nil || n != size {
				t.Errorf("%s: %d bytes, error %v", name, n, err)
			}
			if allocated := after.TotalAlloc - before.TotalAlloc; allocated > 128<<10 {
				t.Errorf("%s, base64 %t: %d bytes allocated for a body of %d", name, encoded, allocated, size)
			}
		}
	}
}

// FuzzBody compares the reader of a body with encoding/json.
func FuzzBody(f *testing.F) {
	for _, seed := range []string{`"a\"\\\/\b\f\n\r\t\u00e9\ud83d\ude00\ud83d"`, `""`, `"\ud83d\ud83d\ude00"`, `"é"`, `null`} {
		f.Add([]byte(seed))
	}
	f.Fuzz(func(t *testing.T, raw []byte) {
		var want string
		if json.Unmarshal(raw, &want) != nil || !utf8.Valid(raw) {
			return
		}
		raw = bytes.TrimSpace(raw)
		var text jsonText
		if err := json.Unmarshal(raw, &text); err != nil {
			t.Fatal(err)
		}
		r, size, err := text.body(false)
		if err != nil {
			t.Fatal(err)
		}
		var got []byte
		if size > 0 {
			if got, err = io.ReadAll(r); err != nil {
				t.Fatal(err)
			}
		}
		if len(got) != size || string(got) != want {
			t.Fatalf("%q is %q of %d bytes, want %q", raw, got, size, want)
		}
	})
}
