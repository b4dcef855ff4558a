//go:build !race

package local

import (
	"net/http/httptest"
	"runtime"
	"strconv"
	"strings"
	"testing"
)

// repeated returns a body with a number of values, or, if it is 0, with as many as 4 MB
// have. Within a value, # is a number of its own.
func repeated(head, value, tail string, count int) string {
	per := 1 + strings.Count(value, ":") - strings.Count(value, `"#":`)
	var body strings.Builder
	body.WriteString(head)
	for i := 0; count == 0 && body.Len()+len(value)+len(tail)+8 < 4<<20 || i < count/per; i++ {
		if i > 0 {
			body.WriteByte(',')
		}
		if before, after, numbered := strings.Cut(value, "#"); numbered {
			body.WriteString(before + strconv.Itoa(i) + after)
		} else {
			body.WriteString(value)
		}
	}
	body.WriteString(tail)
	return body.String()
}

// A body can have a value in two bytes. The memory for the values is bounded in all
// protocols, as infra/requests.md has it.
func TestTheMemoryOfManyValues(t *testing.T) {
	const (
		aisdk = `{"id":"t1","messages":[{"id":"m1","role":"user",`
		agui  = `{"threadId":"t1","runId":"r1","messages":[`
		call  = `{"jsonrpc":"2.0","id":1,"method":"tools/call","params":{"name":"demo","arguments":{"a":[`
		start = `{"jsonrpc":"2.0","id":1,"method":"initialize","params":{`
	)
	_, h := serveOpenHost(t, "memory")
	for _, tt := range []struct{ name, path, head, value, tail string }{
		{"AI SDK, parts", "/v1/ai-sdk/chat", aisdk + `"parts":[`, `{}`, `]}]}`},
		{"AI SDK, numbers for parts", "/v1/ai-sdk/chat", aisdk + `"parts":[`, `1`, `]}]}`},
		{"AG-UI, messages", "/v1/ag-ui/run", agui, `{}`, `]}`},
		{"AG-UI, content", "/v1/ag-ui/run", agui + `{"id":"m1","role":"user","content":[`, `{}`, `]}]}`},
		{"native, content", "/v1/runs", `{"messages":[{"role":"user","content":[`, `{"type":"text","text":""}`, `]}]}`},
		{"MCP, arguments", "/v1/mcp", call, `1`, `]}}}`},
		{"MCP, capabilities", "/v1/mcp", start + `"protocolVersion":"x","capabilities":{"experimental":{`, `"#":{}`, `}}}}`},
	} {
		for count, most := range map[int]uint64{0: 24 << 20, 199_900: 280 << 20} { // 0: as many as fit into 4 MB
			body := repeated(tt.head, tt.value, tt.tail, count)
			r := httptest.NewRequest("POST", "http://localhost"+tt.path, strings.NewReader(body))
			r.Header.Set("Content-Type", "application/json")
			r.Header.Set("Accept", "application/json, text/event-stream")
			rec := httptest.NewRecorder()
			var before, after runtime.MemStats
			runtime.ReadMemStats(&before)
			h.handler.ServeHTTP(rec, r)
			runtime.ReadMemStats(&after)
			allocated := after.TotalAlloc - before.TotalAlloc
			many := strings.Contains(rec.Body.String(), "JSON values, at most 200000 are allowed")
			if many != (count == 0) || many && rec.Code != 413 || allocated > most {
				t.Errorf("%s, %d bytes: status %d %.150s, %d bytes allocated, want at most %d", tt.name, len(body), rec.Code, rec.Body, allocated, most)
			}
		}
	}
}
