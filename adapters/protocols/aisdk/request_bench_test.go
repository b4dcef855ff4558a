//go:build !race

package aisdk

import (
	"fmt"
	"runtime"
	"strings"
	"testing"
)

// longBody is the body of a request with so many messages: what useChat sends after turns of
// a text, a call of a tool and its answer, with a member of the application's own.
func longBody(messages int) []byte {
	var b strings.Builder
	b.WriteString(`{"id":"t1","trigger":"submit-message","locale":"en","messages":[`)
	for i := range messages - 1 {
		if i%2 == 0 {
			fmt.Fprintf(&b, `{"parts":[{"type":"text","text":"Where is order %d, and when does it arrive?"}],"id":"u%d","role":"user"},`, i, i)
			continue
		}
		fmt.Fprintf(&b, `{"id":"a%d","metadata":{"model":"m"},"role":"assistant","parts":[{"type":"step-start"},{"type":"tool-order","toolCallId":"c%d","state":"output-available","input":{"order":"%d"},"output":{"status":"shipped","carrier":"post","items":[{"sku":"a-1","count":2},{"sku":"b-2","count":1}]}},{"type":"step-start"},{"type":"text","text":"Order %d was shipped this morning. It should arrive within two days, and you get a message when it does.","state":"done"}]},`, i, i, i, i)
	}
	b.WriteString(`{"id":"last","role":"user","parts":[{"type":"text","text":"Thank you!"}]}]}`)
	return []byte(b.String())
}

// A body is decoded once, and its history is not copied for the few members beside it.
func TestDecodeRequestAllocatesLittle(t *testing.T) {
	for _, tt := range []struct{ messages, objects, bytes int }{{1, 35, 2_300}, {100, 1_030, 134_000}, {1000, 10_040, 1_280_000}} {
		body := longBody(tt.messages)
		_, _ = decodeRequest(body) // the decoder looks at the types once
		var before, after runtime.MemStats
		runtime.ReadMemStats(&before)
		const runs = 20
		objects := testing.AllocsPerRun(runs-1, func() { // it runs once more
			if _, err := decodeRequest(body); err != nil {
				t.Fatal(err)
			}
		})
		runtime.ReadMemStats(&after)
		bytes := int(after.TotalAlloc-before.TotalAlloc) / runs
		t.Logf("%d messages: %g objects, %d bytes", tt.messages, objects, bytes)
		if int(objects) > tt.objects || bytes > tt.bytes {
			t.Errorf("%d messages: %g objects and %d bytes, at most %d and %d are wanted", tt.messages, objects, bytes, tt.objects, tt.bytes)
		}
	}
}

// BenchmarkDecodeRequest is the decoding of bodies with a history.
func BenchmarkDecodeRequest(b *testing.B) {
	for _, messages := range []int{1, 100, 1000} {
		b.Run(fmt.Sprint("messages=", messages), func(b *testing.B) {
			body := longBody(messages)
			b.SetBytes(int64(len(body)))
			b.ReportAllocs()
			for b.Loop() {
				if _, err := decodeRequest(body); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
