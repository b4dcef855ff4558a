package gemini

import (
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"iter"
	"strings"
	"testing"
	"testing/iotest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core"
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

// parts is a chunk of one candidate.
func parts(list string) string {
	return `{"candidates":[{"content":{"parts":[` + list + `],"role":"model"},"index":0}]}`
}

// finishing is the last chunk.
func finishing(reason string) string {
	return `{"candidates":[{"finishReason":"` + reason + `","index":0}]}`
}

// lines writes each delta of a stream as a line, and its error as the last.
func lines(deltas iter.Seq2[model.Delta, error]) []string {
	var out []string
	for d, err := range deltas {
		if err != nil {
			out = append(out, "error "+err.Error())
			continue
		}
		line := fmt.Sprintf("unknown %d", d.Type)
		switch d.Type {
		case model.DeltaText:
			line = "text " + d.Text
		case model.DeltaReasoning:
			line = "reasoning " + d.Text
		case model.DeltaToolStart:
			line = fmt.Sprintf("call %d %s %s", d.Index, d.CallID, d.Name)
		case model.DeltaToolArgument:
			line = fmt.Sprintf("argument %d %s", d.Index, d.Text)
		case model.DeltaUsage:
			usage, _ := json.Marshal(d.Usage)
			line = "usage " + string(usage)
		case model.DeltaStop:
			line = "stop " + string(d.Stop)
		}
		if d.Echo != nil {
			line += " " + string(d.Echo)
		}
		out = append(out, line)
	}
	return out
}

// decodeAll reads a stream without HTTP.
func decodeAll(in io.Reader) []string {
	return lines(func(yield func(model.Delta, error) bool) {
		if _, err := wire.Read(in, &turn{}, func(d model.Delta) bool { return yield(d, nil) }); err != nil {
			yield(model.Delta{}, err)
		}
	})
}

const (
	// The shape of a turn of Gemini 3 with thoughts and parallel calls, its signature on
	// the first call, as packages/google/src/__fixtures__ of vercel/ai have them apart.
	signedCalls = ": keep-alive\r\n\r\n" +
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"**Looking**\",\"thought\":true}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":29,\"totalTokenCount\":833,\"thoughtsTokenCount\":804},\"modelVersion\":\"gemini-3-pro-preview\"}\r\n\r\n" +
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"lpndqlku\",\"name\":\"weather\",\"args\":{\"city\":\"Paris\"}},\"thoughtSignature\":\"AY89a1==\"}],\"role\":\"model\"},\"index\":0}],\"usageMetadata\":{\"trafficType\":\"ON_DEMAND\"}}\r\n\r\n" +
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"functionCall\":{\"id\":\"m6rogicj\",\"name\":\"weather\",\"args\":{\"city\":\"Tōkyō\"}}}],\"role\":\"model\"},\"index\":0}]}\r\n\r\n" +
		"data: {\"candidates\":[{\"content\":{\"parts\":[{\"text\":\"\"}],\"role\":\"model\"},\"finishReason\":\"STOP\",\"index\":0}],\"usageMetadata\":{\"promptTokenCount\":29,\"cachedContentTokenCount\":8,\"candidatesTokenCount\":15,\"totalTokenCount\":848,\"thoughtsTokenCount\":804}}\r\n\r\n"

	// The shape of google-stream-gemini-3.7-flash-2026-09-16.chunks.txt there: a text whose
	// signature comes with an empty part.
	signedText = `data: {"candidates": [{"content": {"parts": [{"text": "fixture ok"}],"role": "model"},"index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2,"totalTokenCount": 103,"thoughtsTokenCount": 94,"serviceTier": "standard"}}

data: {"candidates": [{"content": {"parts": [{"text": "","thoughtSignature": "EqkE+A=="}],"role": "model"},"finishReason": "STOP","index": 0}],"usageMetadata": {"promptTokenCount": 7,"candidatesTokenCount": 2,"totalTokenCount": 103,"thoughtsTokenCount": 94,"serviceTier": "standard"}}

`
)

var (
	signedCallsWant = []string{
		"reasoning **Looking**", `usage {"input":29,"output":804,"reasoning":804}`,
		`call 0 lpndqlku weather {"thoughtSignature":"AY89a1=="}`, `argument 0 {"city":"Paris"}`,
		"call 1 m6rogicj weather", `argument 1 {"city":"Tōkyō"}`,
		`usage {"input":29,"output":819,"cache_read":8,"reasoning":804}`, "stop tool_use",
	}
	signedTextWant = []string{
		"text fixture ok", `usage {"input":7,"output":96,"reasoning":94}`,
		`reasoning  {"thoughtSignature":"EqkE+A==","on":"text"}`, "stop end_turn",
	}
)

var streams = []struct {
	name, stream string
	want         []string
}{
	{"parallel calls over chunks, comments, CR LF", signedCalls, signedCallsWant},
	{"a signature on an empty text", signedText, signedTextWant},
	{"a signature on the end of a text", data(parts(`{"text":"Hé"}`), parts(`{"text":"llö","thoughtSignature":"cw=="}`), finishing("STOP")),
		[]string{"text Hé", "text llö", `reasoning  {"thoughtSignature":"cw==","on":"text","bytes":4}`, "stop end_turn"}},
	{"a signed thought", data(parts(`{"text":"a","thought":true},{"text":"bc","thought":true,"thoughtSignature":"cw=="}`), finishing("STOP")),
		[]string{"reasoning a", `reasoning bc {"thoughtSignature":"cw==","on":"thought","bytes":2}`, "stop end_turn"}},
	{"a signature without a thought's text", data(parts(`{"text":"","thought":true,"thoughtSignature":"cw=="}`), finishing("STOP")),
		[]string{`reasoning  {"thoughtSignature":"cw==","on":"thought"}`, "stop end_turn"}},
	{"no signature behind calls", data(parts(`{"functionCall":{"name":"now"}},{"text":"","thoughtSignature":"cw=="},{"text":"","thought":true,"thoughtSignature":"cw=="}`), finishing("STOP")),
		[]string{"call 0  now", "argument 0 {}", "stop tool_use"}},
	{"arguments that are null", data(parts(`{"functionCall":{"name":"now","args":null}}`), finishing("STOP")), []string{"call 0  now", "argument 0 {}", "stop tool_use"}},
	{"arguments that are no object", data(parts(`{"functionCall":{"name":"now","args":[1]}}`)), []string{"error the arguments of tool call 0 are not an object"}},
	{"a call without a name", data(parts(`{"text":"a"},{"functionCall":{"args":{}}}`)), []string{"text a", "error tool call 0 has no name"}},
	{"a call in pieces", data(parts(`{"functionCall":{"name":"now","willContinue":true}}`)), []string{"error the arguments of a call come in pieces, which was not asked for"}},
	{"pieces of a call", data(parts(`{"functionCall":{"name":"now","partialArgs":[{"jsonPath":"$.id","stringValue":"A"}]}}`)), []string{"error the arguments of a call come in pieces, which was not asked for"}},
	{"what the provider's own tools leave", data(parts(`{"executableCode":{"code":"1"}},{"toolCall":{"id":"x"},"thoughtSignature":"cw=="},{"inlineData":{"mimeType":"image/png","data":"YQ=="}},{"text":"1"}`), finishing("STOP")),
		[]string{"text 1", "stop end_turn"}},
	{"a second candidate", data(`{"candidates":[{"index":1,"content":{"parts":[{"text":"b"}]},"finishReason":"SAFETY"},{"content":{"parts":[{"text":"a"}]},"finishReason":"STOP"}]}`), []string{"text a", "stop end_turn"}},
	{"the provider's own tools count as input", data(`{"usageMetadata":{"promptTokenCount":12,"candidatesTokenCount":71,"cachedContentTokenCount":4,"toolUsePromptTokenCount":65,"thoughtsTokenCount":89}}`, finishing("STOP")),
		[]string{`usage {"input":77,"output":160,"cache_read":4,"reasoning":89}`, "stop end_turn"}},
	{"the last usage counts, also behind the end", data(`{"usageMetadata":{"promptTokenCount":211}}`, finishing("STOP"), `{"usageMetadata":{"promptTokenCount":646,"candidatesTokenCount":3}}`, `{"usageMetadata":{"trafficType":"ON_DEMAND"}}`),
		[]string{`usage {"input":211}`, `usage {"input":646,"output":3}`, "stop end_turn"}},
	{"a finish reason in each chunk", data(`{"candidates":[{"content":{"parts":[{"text":"a"}]},"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`, `{"candidates":[{"content":{"parts":[{"text":"b"}]},"finishReason":"STOP"}]}`, `{"candidates":[{"content":{"parts":[{"text":"c"}]},"finishReason":"MAX_TOKENS"}]}`),
		[]string{"text a", "text b", "text c", "stop max_tokens"}},
	{"calls that the limit ends", data(parts(`{"functionCall":{"name":"now"}}`), finishing("MAX_TOKENS")), []string{"call 0  now", "argument 0 {}", "stop max_tokens"}},
	{"calls as others name them", data(parts(`{"functionCall":{"name":"now"}}`), finishing("FUNCTION_CALL")), []string{"call 0  now", "argument 0 {}", "stop tool_use"}},
	{"no finish reason", data(parts(`{"text":"a"}`), `{"candidates":[{"finishReason":"FINISH_REASON_UNSPECIFIED"}]}`), []string{"text a", "error the stream ended before the turn did"}},
	{"nothing", "", []string{"error the stream ended before the turn did"}},
	{"a blocked prompt", data(`{"promptFeedback":{"blockReason":"PROHIBITED_CONTENT"},"usageMetadata":{"promptTokenCount":9,"totalTokenCount":9}}`),
		[]string{`usage {"input":9}`, "error the prompt was blocked: PROHIBITED_CONTENT"}},
	{"a blocked prompt that says why", data(`{"promptFeedback":{"blockReason":"OTHER","blockReasonMessage":"no"}}`), []string{"error the prompt was blocked: OTHER: no"}},
	{"a malformed call", data(`{"candidates":[{"content":{},"finishReason":"MALFORMED_FUNCTION_CALL","finishMessage":"Malformed function call: print(x)"}]}`),
		[]string{"error the model's call could not be read: finish reason MALFORMED_FUNCTION_CALL: Malformed function call: print(x)"}},
	{"a missing signature", data(finishing("MISSING_THOUGHT_SIGNATURE")), []string{"error finish reason MISSING_THOUGHT_SIGNATURE"}},
	{"an error behind text", data(parts(`{"text":"a"}`), `{"error":{"code":500,"message":"An internal error has occurred.","status":"INTERNAL"}}`), []string{"text a", "error An internal error has occurred."}},
	{"an error as a list", data(`[{"error":{"code":429,"message":"Slow down.","status":"RESOURCE_EXHAUSTED"}}]`), []string{"error Slow down."}},
	{"an error by its event", "event: error\ndata: {\"x\":1}\n\n", []string{`error {"x":1}`}},
	{"an error that is null", data(`{"error":null,"candidates":[{"finishReason":"STOP"}]}`), []string{"stop end_turn"}},
	{"half a chunk", "data: {\"candidates\"", []string{"error read a chunk: unexpected end of JSON input"}},
}

func TestStreams(t *testing.T) {
	for _, test := range streams {
		t.Run(test.name, func(t *testing.T) {
			if diff := cmp.Diff(test.want, decodeAll(strings.NewReader(test.stream))); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestFinishReasons(t *testing.T) {
	tests := []struct {
		reason string
		want   core.StopReason
		kind   model.ErrorKind
	}{
		{"STOP", core.StopEndTurn, ""},
		{"MAX_TOKENS", core.StopMaxTokens, ""},
		{"SAFETY", core.StopContentFilter, ""},
		{"RECITATION", core.StopContentFilter, ""},
		{"BLOCKLIST", core.StopContentFilter, ""},
		{"PROHIBITED_CONTENT", core.StopContentFilter, ""},
		{"SPII", core.StopContentFilter, ""},
		{"IMAGE_SAFETY", core.StopContentFilter, ""},
		{"IMAGE_PROHIBITED_CONTENT", core.StopContentFilter, ""},
		{"IMAGE_RECITATION", core.StopContentFilter, ""},
		{"LANGUAGE", core.StopOther, ""},
		{"OTHER", core.StopOther, ""},
		{"TOO_MANY_TOOL_CALLS", core.StopOther, ""},
		{"MALFORMED_FUNCTION_CALL", "", model.KindInterrupted},
		{"UNEXPECTED_TOOL_CALL", "", model.KindInterrupted},
		{"MALFORMED_RESPONSE", "", model.KindInterrupted},
		{"MISSING_THOUGHT_SIGNATURE", "", model.KindInvalid},
	}
	for _, test := range tests {
		reason, err := (&turn{finish: test.reason}).Stop()
		var f wire.Failure
		if errors.As(err, &f); reason != test.want || f.Kind != test.kind || (err != nil) != (test.kind != "") {
			t.Errorf("%s: %q, %v (%s), want %q, %q", test.reason, reason, err, f.Kind, test.want, test.kind)
		}
	}
}

func TestKindsOfErrorsInAStream(t *testing.T) {
	tests := []struct {
		name, chunk string
		want        model.ErrorKind
	}{
		{"a blocked prompt", `{"promptFeedback":{"blockReason":"SAFETY"}}`, model.KindFiltered},
		{"a call in pieces", parts(`{"functionCall":{"name":"now","willContinue":true}}`), model.KindInvalid},
		{"a day's quota", `{"error":{"code":429,"message":"Enough.","details":[{"violations":[{"quotaId":"RequestsPerDay"}]}]}}`, model.KindQuota},
		{"a day's quota in a list", `[{"error":{"code":429,"message":"Enough.","details":[{"violations":[{"quotaId":"RequestsPerDay"}]}]}}]`, model.KindQuota},
	}
	for _, test := range tests {
		_, _, err := (&turn{}).Add(wire.Event{Data: []byte(test.chunk)})
		var f wire.Failure
		if !errors.As(err, &f) || f.Kind != test.want {
			t.Errorf("%s: %v (%s), want %s", test.name, err, f.Kind, test.want)
		}
	}
}

func TestChunkBoundariesDoNotMatter(t *testing.T) {
	for at := range signedCalls {
		in := io.MultiReader(strings.NewReader(signedCalls[:at]), strings.NewReader(signedCalls[at:]))
		if diff := cmp.Diff(signedCallsWant, decodeAll(in)); diff != "" {
			t.Fatalf("split at byte %d: %s", at, diff)
		}
	}
	if diff := cmp.Diff(signedTextWant, decodeAll(iotest.OneByteReader(strings.NewReader(signedText)))); diff != "" {
		t.Errorf("byte by byte: %s", diff)
	}
}

func TestACutStreamIsNeverATurn(t *testing.T) {
	end := strings.Index(signedText, `"finishReason"`)
	for at := range end {
		got := decodeAll(iotest.TimeoutReader(strings.NewReader(signedText[:at])))
		if last := got[len(got)-1]; !strings.HasPrefix(last, "error ") {
			t.Fatalf("cut at byte %d: ends with %q", at, last)
		}
	}
}

// What a stream brought goes back as it came, through the blocks of a message.
func TestSignedPartsComeBackAsTheyCame(t *testing.T) {
	const sent = `{"text":"Then.","thought":true,"thoughtSignature":"YQ=="},{"text":"Wör"},{"text":"ld","thoughtSignature":"Yg=="},{"text":"","thoughtSignature":"Yw=="},{"functionCall":{"id":"c0_0","name":"now","args":{}},"thoughtSignature":"ZA=="}`
	m := core.Message{ID: "a", Role: core.RoleAssistant}
	add := func(b core.Block) {
		if n := len(m.Content); n > 0 && m.Content[n-1].Type == b.Type && m.Content[n-1].Echo == nil {
			m.Content[n-1].Text += b.Text
			return
		}
		m.Content = append(m.Content, b)
	}
	_, err := wire.Read(strings.NewReader(data(parts(sent), finishing("STOP"))), &turn{}, func(d model.Delta) bool {
		switch d.Type {
		case model.DeltaText:
			add(core.Block{Type: core.BlockText, Text: d.Text})
		case model.DeltaReasoning:
			add(core.Block{Type: core.BlockReasoning, Text: d.Text, Echo: d.Echo, Origin: here})
		case model.DeltaToolStart:
			m.ToolCalls = append(m.ToolCalls, core.ToolCall{ID: d.CallID, Name: d.Name, Arguments: json.RawMessage(`{}`), Echo: d.Echo, Origin: here})
		}
		return true
	})
	if err != nil {
		t.Fatal(err)
	}
	c := conversation{origin: here, signs: true}
	c.addTurn(m, []string{"c0_0"})
	got, err := json.Marshal(c.contents[1])
	if want := `{"role":"model","parts":[` + sent + `]}`; err != nil || string(got) != want {
		t.Errorf("got  %s, %v\nwant %s", got, err, want)
	}
}

func FuzzStream(f *testing.F) {
	f.Add([]byte(signedCalls))
	f.Add([]byte(signedText))
	for _, s := range streams {
		f.Add([]byte(s.stream))
	}
	f.Fuzz(func(t *testing.T, in []byte) {
		stops, after, open := 0, 0, -1
		_, err := wire.Read(iotest.HalfReader(strings.NewReader(string(in))), &turn{}, func(d model.Delta) bool {
			if stops > 0 {
				after++
			}
			switch d.Type {
			case model.DeltaStop:
				stops++
			case model.DeltaToolStart:
				if open++; d.Index != open || d.Name == "" {
					t.Errorf("call %+v behind call %d", d, open-1)
				}
			case model.DeltaToolArgument:
				if d.Index != open || !wire.IsObject([]byte(d.Text)) {
					t.Errorf("arguments %+v of call %d", d, open)
				}
			}
			return true
		})
		if after > 0 || (stops == 1) == (err != nil) {
			t.Errorf("%d stops, %d deltas after one, error %v", stops, after, err)
		}
	})
}
