//go:build !race

package agui

import (
	"encoding/json"
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// A message is read as the decoder reads it, errors included.
func TestAMessageIsReadAsTheDecoderDoes(t *testing.T) {
	for _, raw := range []string{
		`null`, `"x"`, `[]`, `1`, `{}`,
		`{"id":"a","role":"user","content":"x","toolCallId":"c","error":"e","more":[{"role":"tool"}]}`,
		`{"ID":"a","Role":"\u0075ser","CONTENT": [ {"type":"text"} ],"toolcallid":"c","eRRor":"\"" }`,
		`{"id":"a","id":"b","id":null,"content":1,"content":null}`, `{"role":"user","role":1}`, `{"id":{"role":"user"}}`, `{"id":"a","error":false,"role":[]}`,
		"{\"id\":\"\xff\",\"\xff\":1}",
	} {
		var want, got inMessage
		wrong, err := json.Unmarshal([]byte(raw), &want), got.read([]byte(raw))
		if fmt.Sprint(err) != fmt.Sprint(wrong) {
			t.Errorf("%s: %v, want %v", raw, err, wrong)
		}
		if diff := cmp.Diff(want, got); diff != "" && wrong == nil {
			t.Errorf("%s (-want +got):\n%s", raw, diff)
		}
	}
}

// longInput is the body of a request with so many messages.
func longInput(messages int) []byte {
	var b strings.Builder
	b.WriteString(`{"threadId":"t1","runId":"r1","state":{},"tools":[],"context":[],"forwardedProps":{},"messages":[`)
	for i := range messages - 1 {
		switch i % 3 {
		case 0:
			fmt.Fprintf(&b, `{"id":"u%d","role":"user","content":"Where is order %d, and when does it arrive?"},`, i, i)
		case 1:
			fmt.Fprintf(&b, `{"id":"a%d","role":"assistant","toolCalls":[{"id":"c%d","type":"function","function":{"name":"order","arguments":"{\"order\":%d}"}}]},`, i, i, i)
		case 2:
			fmt.Fprintf(&b, `{"id":"r%d","role":"tool","toolCallId":"c%d","content":"{\"status\":\"shipped\",\"items\":[{\"sku\":\"a-1\",\"count\":2}]}"},`, i, i-1)
		}
	}
	b.WriteString(`{"id":"last","role":"user","content":"Thank you!"}]}`)
	return []byte(b.String())
}

// Each message is kept once, with the few texts that are looked at.
func TestDecodeInputAllocatesLittle(t *testing.T) {
	for messages, most := range map[int]float64{1: 25, 100: 600, 1000: 5_750} {
		body := longInput(messages)
		if got := testing.AllocsPerRun(10, func() { _, _ = decodeInput(body) }); got > most {
			t.Errorf("%d messages: %g objects, at most %g are wanted", messages, got, most)
		}
	}
}

// BenchmarkDecodeInput is the decoding of bodies with a history.
func BenchmarkDecodeInput(b *testing.B) {
	for _, messages := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("messages=", messages), func(b *testing.B) {
			body := longInput(messages)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeInput(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
