package openai

import (
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// data writes events of one data line each.
func data(chunks ...string) string {
	var b strings.Builder
	for _, c := range chunks {
		b.WriteString("data: " + c + "\n\n")
	}
	return b.String()
}

const (
	openaiCalls = `data: {"id":"c1","object":"chat.completion.chunk","choices":[{"index":0,"delta":{"role":"assistant","content":null,"refusal":null},"finish_reason":null}],"usage":null,"obfuscation":"x9"}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"id":"call_1","type":"function","function":{"name":"add","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{\"a\""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":1,"id":"call_2","type":"function","function":{"name":"now","arguments":""}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{"tool_calls":[{"index":0,"function":{"arguments":":1}"}},{"index":1,"function":{"arguments":"{}"}}]},"finish_reason":null}]}

data: {"choices":[{"index":0,"delta":{},"finish_reason":"tool_calls"}]}

data: {"choices":[],"usage":{"prompt_tokens":20,"completion_tokens":9,"total_tokens":29,"prompt_tokens_details":{"cached_tokens":8,"cache_write_tokens":4},"completion_tokens_details":{"reasoning_tokens":3}}}

data: [DONE]

`
	openrouterText = ": OPENROUTER PROCESSING\r\n\r\n: OPENROUTER PROCESSING\r\n\r\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"role\":\"assistant\",\"content\":\"\",\"reasoning\":\"hm\",\"reasoning_details\":[{\"type\":\"x\"}]}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"H\u00e9llo \\ud83c\\udf0d\"}}]}\r\n\r\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}]}\r\n\r\n" +
		"data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"\"},\"finish_reason\":\"stop\"}],\"usage\":{\"prompt_tokens\":7,\"completion_tokens\":2,\"total_tokens\":9}}\r\n\r\n" +
		"data: [DONE]\r\n\r\n"
)

var (
	openaiCallsWant = []string{
		"call 0 call_1 add", `argument 0 {"a"`, "call 1 call_2 now", "argument 0 :1}", "argument 1 {}",
		`usage {"input":20,"output":9,"cache_read":8,"cache_write":4,"reasoning":3}`, "stop tool_use",
	}
	openrouterTextWant = []string{"reasoning hm", "text Héllo 🌍", `usage {"input":7,"output":2}`, "stop end_turn"}
)

var streams = []struct {
	name, stream string
	want         []string
}{
	{"two calls interleaved, usage last", openaiCalls, openaiCallsWant},
	{"comments, two finish reasons, CR LF", openrouterText, openrouterTextWant},
	{"whole arguments in one chunk, calls although it says stop", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"functions.add:0","function":{"name":"add","arguments":"{\"a\":1}"}}]},"finish_reason":"stop"}]}`, `[DONE]`),
		[]string{"call 0 functions.add:0 add", `argument 0 {"a":1}`, "stop tool_use"}},
	{"arguments as an object", data(
		`{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"add","arguments":{"a":1}}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", `argument 0 {"a":1}`, "stop tool_use"}},
	{"every call has index 0", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"{}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"name":"add","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {}", "call 1 y add", "argument 1 {", "argument 1 }", "stop tool_use"}},
	{"a new call at index 0 between the pieces of another", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"{}"}},{"index":1,"id":"y","function":{"name":"now","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"z","function":{"name":"add","arguments":"["}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"arguments":"}"}},{"index":0,"function":{"arguments":"]"}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {}", "call 1 y now", "argument 1 {", "call 2 z add", "argument 2 [", "argument 1 }", "argument 2 ]", "stop tool_use"}},
	{"an id of its own in every delta", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"y","function":{"arguments":"}"}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {", "argument 0 }", "stop tool_use"}},
	{"the name in every delta, the id in the first", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"name":"add","arguments":"}"}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {", "argument 0 }", "stop tool_use"}},
	{"id and name after the arguments began", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"function":{"arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x","function":{"name":"add","arguments":"}"}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {}", "stop tool_use"}},
	{"no index at all, id and name in every delta", data(
		`{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"add","arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"id":"x","function":{"name":"add","arguments":"}"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"id":"y","function":{"name":"now","arguments":""}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {", "argument 0 }", "call 1 y now", "stop tool_use"}},
	{"indexes from 1, name after the arguments began", data(
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"id":"x","function":{"arguments":"{"}}]}}]}`,
		`{"choices":[{"delta":{"tool_calls":[{"index":1,"function":{"name":"add","arguments":"}"}}]},"finish_reason":"tool_calls"}]}`),
		[]string{"call 0 x add", "argument 0 {}", "stop tool_use"}},
	{"a call without a name", data(`{"choices":[{"delta":{"tool_calls":[{"index":0,"id":"x"}]},"finish_reason":"tool_calls"}]}`, `[DONE]`),
		[]string{"error openai: tool call 0 has no name"}},
	{"usage twice is overwritten", data(
		`{"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}],"usage":{"prompt_tokens":5,"completion_tokens":1},"x_groq":{"id":"r","usage":{"prompt_tokens":5}}}`,
		`{"choices":[],"usage":{"prompt_tokens":5,"completion_tokens":2}}`, `[DONE]`),
		[]string{"text a", `usage {"input":5,"output":1}`, `usage {"input":5,"output":2}`, "stop end_turn"}},
	{"reasoning that the completion leaves out", data(
		`{"choices":[],"usage":{"prompt_tokens":432,"completion_tokens":68,"total_tokens":636,"completion_tokens_details":{"reasoning_tokens":136}}}`, `[DONE]`),
		[]string{`usage {"input":432,"output":204,"reasoning":136}`, "stop end_turn"}},
	{"cache hits as DeepSeek spells them", data(`{"choices":[],"usage":{"prompt_tokens":9,"prompt_cache_hit_tokens":4}}`, `[DONE]`),
		[]string{`usage {"input":9,"cache_read":4}`, "stop end_turn"}},
	{"reasoning under both names is one", data(`{"choices":[{"delta":{"reasoning_content":"a","reasoning":"a"}}]}`, `{"choices":[{"delta":{"reasoning":{"x":1},"content":"b"}}]}`, `[DONE]`),
		[]string{"reasoning a", "text b", "stop end_turn"}},
	{"refusal", data(`{"choices":[{"delta":{"refusal":"I will not."},"finish_reason":"stop"}]}`, `[DONE]`),
		[]string{"text I will not.", "stop content_filter"}},
	{"length", data(`{"choices":[{"delta":{"content":"a"},"finish_reason":"length"}]}`), []string{"text a", "stop max_tokens"}},
	{"filter", data(`{"choices":[{"delta":{},"finish_reason":"content_filter"}]}`), []string{"stop content_filter"}},
	{"stop sequence", data(`{"choices":[{"delta":{},"finish_reason":"stop_sequence"}]}`), []string{"stop stop_sequence"}},
	{"unknown reason", data(`{"choices":[{"delta":{},"finish_reason":"tired"}]}`), []string{"stop other"}},
	{"second choice", data(`{"choices":[{"index":1,"delta":{"content":"b"}},{"index":0,"delta":{"content":"a"}}]}`, `[DONE]`), []string{"text a", "stop end_turn"}},
	{"nothing after the end counts", data(`[DONE]`, `{"error":{"message":"late"}}`), []string{"stop end_turn"}},
	{"no blank line after the end", "data: [DONE]", []string{"stop end_turn"}},
	{"no space, no empty events, ids, byte order mark", "\ufeffid: 1\nretry: 5\n\n\ndata:\n\ndata:{\"choices\":[{\"delta\":{\"content\":\"a\"}}]}  \n\ndata:[DONE]\n\n", []string{"text a", "stop end_turn"}},
	{"a chunk on two data lines", "data: {\"choices\":[{\"delta\":\ndata: {\"content\":\"a\"}}]}\n\ndata: [DONE]\n\n", []string{"text a", "stop end_turn"}},
	{"an empty body", "", []string{"error openai: the stream ended before the turn did"}},
	{"a clean end without a finish reason", data(`{"choices":[{"delta":{"content":"a"}}]}`), []string{"text a", "error openai: the stream ended before the turn did"}},
	{"half a chunk", data(`{"choices":[{"delta":{"content":"a"}}]}`) + `data: {"choi`, []string{"text a", "error openai: read a chunk: unexpected end of JSON input"}},
	{"the server gave up", data(`{"choices":[{"delta":{"content":"a"},"finish_reason":"error"}]}`), []string{"text a", "error openai: the server gave up: finish reason error"}},
	{"error event", "event: error\ndata: {\"error\":{\"message\":\"over\",\"status_code\":503}}\n\n", []string{"error openai: status 503: over"}},
	{"half an error event", "event: error\ndata: {\"error\":{\"message\":\"ov", []string{"error openai: read a chunk: unexpected end of JSON input"}},
	{"error event of text", "event: error\ndata: overloaded\n\n", []string{"error openai: overloaded"}},
	{"error object after text", data(`{"choices":[{"delta":{"content":"a"}}]}`, `{"error":{"code":502,"message":"gone"},"choices":[{"delta":{},"finish_reason":"error"}]}`, `[DONE]`),
		[]string{"text a", "error openai: status 502: gone"}},
	{"error text", data(`{"error":"out of memory"}`), []string{"error openai: out of memory"}},
	{"error at the top", data(`{"object":"error","message":"no","code":400}`), []string{"error openai: status 400: no"}},
	{"error null is none", data(`{"error":null,"choices":[{"delta":{"content":"a"},"finish_reason":"stop"}]}`), []string{"text a", "stop end_turn"}},
}

func TestStreams(t *testing.T) {
	for _, test := range streams {
		t.Run(test.name, func(t *testing.T) {
			m := serve(t, replies(test.stream))
			if diff := cmp.Diff(test.want, lines(m.Stream(t.Context(), request))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

// decodeAll reads a stream without HTTP.
func decodeAll(in io.Reader) []string {
	return lines(func(yield func(model.Delta, error) bool) {
		if _, err := wire.Read(in, &turn{}, func(d model.Delta) bool { return yield(d, nil) }); err != nil {
			yield(model.Delta{}, err)
		}
	})
}

func TestChunkBoundariesDoNotMatter(t *testing.T) {
	for _, stream := range []struct {
		text string
		want []string
	}{{openaiCalls, openaiCallsWant}, {openrouterText, openrouterTextWant}} {
		for at := range stream.text {
			in := io.MultiReader(strings.NewReader(stream.text[:at]), strings.NewReader(stream.text[at:]))
			if diff := cmp.Diff(stream.want, decodeAll(in)); diff != "" {
				t.Fatalf("split at byte %d: %s", at, diff)
			}
		}
		if diff := cmp.Diff(stream.want, decodeAll(iotest.OneByteReader(strings.NewReader(stream.text)))); diff != "" {
			t.Errorf("byte by byte: %s", diff)
		}
	}
}

func TestACutStreamIsNeverATurn(t *testing.T) {
	finish := strings.Index(openaiCalls, `"finish_reason":"tool_calls"}]}`) + len(`"finish_reason":"tool_calls"}]}`)
	for at := range finish {
		got := decodeAll(iotest.TimeoutReader(strings.NewReader(openaiCalls[:at])))
		if last := got[len(got)-1]; !strings.HasPrefix(last, "error ") {
			t.Fatalf("cut at byte %d: ends with %q", at, last)
		}
	}
	got := decodeAll(strings.NewReader(openaiCalls[:finish]))
	if last := got[len(got)-1]; last != "stop tool_use" {
		t.Errorf("cut after the finish reason: ends with %q", last)
	}
}

func TestABrokenConnectionIsTruncated(t *testing.T) {
	m := serve(t, func(w http.ResponseWriter, r *http.Request) {
		replies(data(`{"choices":[{"delta":{"content":"a"}}]}`))(w, r)
		w.(http.Flusher).Flush()
		panic(http.ErrAbortHandler)
	})
	var last error
	for _, err := range m.Stream(t.Context(), request) {
		last = err
	}
	if e, ok := errors.AsType[*model.Error](last); !ok || e.Kind != model.KindInterrupted {
		t.Errorf("error %v, want one of kind %s", last, model.KindInterrupted)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(openaiCalls))
	f.Add([]byte(openrouterText))
	f.Add([]byte("event: error\ndata: {\"error\":{\"message\":\"x\",\"code\":503}}\n\n"))
	f.Add([]byte(data(`{"choices":[{"delta":{"tool_calls":[{"index":-1,"function":{"arguments":{}}}]},"finish_reason":"stop"}]}`)))
	f.Fuzz(func(t *testing.T, in []byte) {
		stops, after := 0, 0
		_, err := wire.Read(iotest.HalfReader(strings.NewReader(string(in))), &turn{}, func(d model.Delta) bool {
			if stops > 0 {
				after++
			}
			if d.Type == model.DeltaStop {
				stops++
			}
			return true
		})
		if after > 0 || (stops == 1) == (err != nil) {
			t.Errorf("%d stops, %d deltas after one, error %v", stops, after, err)
		}
	})
}
