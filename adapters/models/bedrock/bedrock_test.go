package bedrock

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/models/bedrock/internal/bedrocktest"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// environment are the variables of a function, with the endpoint of a fake.
func environment(url string, more ...string) awsenv.Config {
	pairs := map[string]string{
		"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "AKIDEXAMPLE", "AWS_SECRET_ACCESS_KEY": "wJalrSecret",
		"AWS_ENDPOINT_URL_BEDROCK_RUNTIME": url,
	}
	for i := 0; i < len(more); i += 2 {
		pairs[more[i]] = more[i+1]
	}
	return awsenv.Config{Getenv: func(name string) string { return pairs[name] }}
}

// fake is a model whose provider is handler.
func fake(t *testing.T, handler http.HandlerFunc) *provider {
	t.Helper()
	server := httptest.NewServer(handler)
	t.Cleanup(server.Close)
	m, err := open(Options{AWS: environment(server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	return m
}

// frames is a provider that sends these.
func frames(all ...[]byte) http.HandlerFunc {
	return func(w http.ResponseWriter, _ *http.Request) { bedrocktest.Serve(w, all...) }
}

func hello() model.Request {
	return model.Request{Model: "anthropic.claude-x", Messages: []core.Message{core.UserMessage("Hello").WithID("1")}}
}

// tell streams an inference and returns what came, a line each; the last is the error.
func tell(ctx context.Context, m model.Model, request model.Request) []string {
	var lines []string
	for d, err := range m.Stream(ctx, request) {
		switch {
		case err != nil:
			lines = append(lines, "error "+err.Error())
		case d.Type == model.DeltaText:
			lines = append(lines, "text "+d.Text)
		case d.Type == model.DeltaReasoning:
			lines = append(lines, strings.TrimSpace("reasoning "+d.Text+" "+string(d.Echo)))
		case d.Type == model.DeltaToolStart:
			lines = append(lines, fmt.Sprintf("call %d %s %s", d.Index, d.CallID, d.Name))
		case d.Type == model.DeltaToolArgument:
			lines = append(lines, fmt.Sprintf("argument %d %s", d.Index, d.Text))
		case d.Type == model.DeltaUsage:
			u := d.Usage
			lines = append(lines, fmt.Sprintf("usage %d %d %d %d", u.Input, u.Output, u.CacheRead, u.CacheWrite))
			if u.CacheWriteHour > 0 {
				lines = append(lines, fmt.Sprintf("for an hour %d", u.CacheWriteHour))
			}
		case d.Type == model.DeltaStop:
			lines = append(lines, "stop "+string(d.Stop))
		}
	}
	return lines
}

func TestStreams(t *testing.T) {
	const cut = "error bedrock: the stream ended without messageStop"
	begin := bedrocktest.Start()
	tests := []struct {
		name   string
		frames [][]byte
		want   []string
	}{
		{"text", [][]byte{begin, bedrocktest.Text(0, "Hel"), bedrocktest.Text(0, "lo"), bedrocktest.End(0), bedrocktest.Stop("end_turn"), bedrocktest.Usage(10, 2, 0, 0)},
			[]string{"text Hel", "text lo", "usage 10 2 0 0", "stop end_turn"}},
		{"usage with a cache", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn"), bedrocktest.Usage(10, 2, 300, 40)},
			[]string{"text a", "usage 350 2 300 40", "stop end_turn"}},
		{"usage of a cache that keeps an hour", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn"), bedrocktest.Event("metadata",
			`{"usage":{"inputTokens":10,"outputTokens":2,"totalTokens":52,"cacheWriteInputTokens":40,"cacheDetails":[{"ttl":"5m","inputTokens":15},{"ttl":"1h","inputTokens":25}]},"metrics":{"latencyMs":7}}`)},
			[]string{"text a", "usage 50 2 0 40", "for an hour 25", "stop end_turn"}},
		{"details of a cache that say more than the whole", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn"), bedrocktest.Event("metadata",
			`{"usage":{"inputTokens":10,"outputTokens":2,"totalTokens":52,"cacheWriteInputTokens":40,"cacheDetails":[{"ttl":"1h","inputTokens":25},{"ttl":"1h","inputTokens":20}]},"metrics":{"latencyMs":7}}`)},
			[]string{"text a", "usage 50 2 0 40", "for an hour 40", "stop end_turn"}},
		{"no usage", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn")}, []string{"text a", "stop end_turn"}},
		{"two calls, pieces of one between those of the other", [][]byte{begin, bedrocktest.Text(0, "Well"), bedrocktest.End(0),
			bedrocktest.Call(1, "tooluse_a", "first"), bedrocktest.Call(2, "tooluse_b", "second"),
			bedrocktest.Argument(1, ""), bedrocktest.Argument(2, `{"x":`), bedrocktest.Argument(1, `{"y":1}`), bedrocktest.Argument(2, `2}`),
			bedrocktest.End(1), bedrocktest.End(2), bedrocktest.Stop("tool_use"), bedrocktest.Usage(1, 2, 0, 0)},
			[]string{"text Well", "call 0 tooluse_a first", "call 1 tooluse_b second", `argument 1 {"x":`, `argument 0 {"y":1}`, `argument 1 2}`, "usage 1 2 0 0", "stop tool_use"}},
		{"a call whose turn says that it just ended", [][]byte{begin, bedrocktest.Call(0, "a", "f"), bedrocktest.End(0), bedrocktest.Stop("end_turn")},
			[]string{"call 0 a f", "stop tool_use"}},
		{"a call that the limit cut", [][]byte{begin, bedrocktest.Call(0, "a", "f"), bedrocktest.Argument(0, `{"x":"lo`), bedrocktest.Stop("max_tokens")},
			[]string{"call 0 a f", `argument 0 {"x":"lo`, "stop max_tokens"}},
		{"reasoning with its signature", [][]byte{begin, bedrocktest.Reasoning(0, "text", "Let me"), bedrocktest.Reasoning(0, "text", " see"),
			bedrocktest.Reasoning(0, "signature", "c2ln"), bedrocktest.End(0), bedrocktest.Text(1, "a"), bedrocktest.End(1), bedrocktest.Stop("end_turn")},
			[]string{"reasoning Let me", "reasoning  see", `reasoning  {"signature":"c2ln"}`, "text a", "stop end_turn"}},
		{"reasoning that is redacted", [][]byte{begin, bedrocktest.Reasoning(0, "redactedContent", "aGlkZGVu"), bedrocktest.End(0), bedrocktest.Text(1, "a"), bedrocktest.Stop("end_turn")},
			[]string{`reasoning  {"redacted":"aGlkZGVu"}`, "text a", "stop end_turn"}},
		{"reasoning without either", [][]byte{begin, bedrocktest.Reasoning(0, "text", "hm"), bedrocktest.End(0), bedrocktest.Text(1, "a"), bedrocktest.Stop("end_turn")},
			[]string{"reasoning hm", "text a", "stop end_turn"}},
		{"what is not known", [][]byte{begin, bedrocktest.Event("somethingNew", `{"a":1}`), bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn")},
			[]string{"text a", "stop end_turn"}},
		{"a stop sequence", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("stop_sequence")}, []string{"text a", "stop stop_sequence"}},
		{"a guardrail", [][]byte{begin, bedrocktest.Text(0, "No."), bedrocktest.Stop("guardrail_intervened")}, []string{"text No.", "stop content_filter"}},
		{"a filter", [][]byte{begin, bedrocktest.Stop("content_filtered")}, []string{"stop content_filter"}},
		{"the window", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("model_context_window_exceeded")}, []string{"text a", "stop context_overflow"}},
		{"a reason of tomorrow", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("bored")}, []string{"text a", "stop other"}},
		{"a malformed turn", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("malformed_model_output")},
			[]string{"text a", "error bedrock: the model's output was malformed: malformed_model_output"}},
		{"a malformed call", [][]byte{begin, bedrocktest.Call(0, "a", "f"), bedrocktest.Stop("malformed_tool_use")},
			[]string{"call 0 a f", "error bedrock: the model's output was malformed: malformed_tool_use"}},
		{"arguments of no call", [][]byte{begin, bedrocktest.Argument(3, "{}"), bedrocktest.Stop("tool_use")},
			[]string{"error bedrock: arguments of block 3, which is not a tool call"}},
		{"a call without a name", [][]byte{begin, bedrocktest.Call(0, "a", "")}, []string{"error bedrock: a tool call has no name"}},
		{"a clean end without a stop", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.End(0)}, []string{"text a", cut}},
		{"nothing", nil, []string{cut}},
		{"a cut inside an event", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Text(0, "bcd")[:20]}, []string{"text a", "error bedrock: read the stream: unexpected EOF"}},
		{"a cut behind the stop", [][]byte{begin, bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn"), bedrocktest.Usage(1, 2, 0, 0)[:9]}, []string{"text a", "stop end_turn"}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			got := tell(t.Context(), fake(t, frames(test.frames...)), hello())
			if diff := cmp.Diff(test.want, got); diff != "" {
				t.Errorf("what came (-want +got):\n%s", diff)
			}
		})
	}
}

// TestEachEndWithoutAStopIsTruncated: however a stream breaks off.
func TestEachEndWithoutAStopIsTruncated(t *testing.T) {
	whole := append(bedrocktest.Start(), bedrocktest.Text(0, "a")...)
	flipped := append([]byte{}, whole...)
	flipped[len(flipped)-1] ^= 1 // the checksum
	tests := []struct {
		name    string
		handler http.HandlerFunc
	}{
		{"its end", frames(whole)},
		{"a cut event", frames(whole[:len(whole)-3])},
		{"a checksum that does not hold", frames(flipped)},
		{"a connection that is reset", func(w http.ResponseWriter, _ *http.Request) {
			bedrocktest.Serve(w, whole)
			panic(http.ErrAbortHandler)
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			var last error
			for _, err := range fake(t, test.handler).Stream(t.Context(), hello()) {
				last = err
			}
			if e, ok := errors.AsType[*model.Error](last); !ok || e.Kind != model.KindInterrupted {
				t.Errorf("error %v, want one of kind %s", last, model.KindInterrupted)
			}
		})
	}
}

func TestFailuresAreClassed(t *testing.T) {
	type refusal struct {
		status        int
		code, message string
	}
	tests := []struct {
		refusal refusal
		kind    model.ErrorKind
		want    string
	}{
		{refusal{429, "ThrottlingException", "Too many requests"}, model.KindRateLimited, "bedrock: status 429: ThrottlingException: Too many requests (request r-1)"},
		{refusal{429, "ThrottlingException", "Too many tokens per day, please wait"}, model.KindQuota, "bedrock: status 429: ThrottlingException: Too many tokens per day, please wait (request r-1)"},
		{refusal{400, "ServiceQuotaExceededException", "q"}, model.KindQuota, "bedrock: status 400: ServiceQuotaExceededException: q (request r-1)"},
		{refusal{503, "ServiceUnavailableException", "busy"}, model.KindOverloaded, "bedrock: status 503: ServiceUnavailableException: busy (request r-1)"},
		{refusal{429, "ModelNotReadyException", "warming"}, model.KindOverloaded, "bedrock: status 429: ModelNotReadyException: warming (request r-1)"},
		{refusal{500, "InternalServerException", "x"}, model.KindProvider, "bedrock: status 500: InternalServerException: x (request r-1)"},
		{refusal{424, "ModelErrorException", "x"}, model.KindProvider, "bedrock: status 424: ModelErrorException: x (request r-1)"},
		{refusal{408, "ModelTimeoutException", "x"}, model.KindTimeout, "bedrock: status 408: ModelTimeoutException: x (request r-1)"},
		{refusal{403, "AccessDeniedException", "You don't have access"}, model.KindUnauthorized, "bedrock: status 403: AccessDeniedException: You don't have access (request r-1)"},
		{refusal{403, "ExpiredTokenException", "x"}, model.KindUnauthorized, "bedrock: status 403: ExpiredTokenException: x (request r-1)"},
		{refusal{400, "UnrecognizedClientException", "x"}, model.KindUnauthorized, "bedrock: status 400: UnrecognizedClientException: x (request r-1)"},
		{refusal{404, "ResourceNotFoundException", "x"}, model.KindNotFound, "bedrock: status 404: ResourceNotFoundException: x (request r-1)"},
		{refusal{400, "ValidationException", "The provided model identifier is invalid."}, model.KindNotFound, "bedrock: status 400: ValidationException: The provided model identifier is invalid. (request r-1)"},
		{refusal{400, "ValidationException", "Input is too long for requested model."}, model.KindOverflow, "bedrock: status 400: ValidationException: Input is too long for requested model. (request r-1)"},
		{refusal{400, "ValidationException", "messages.1: bad"}, model.KindInvalid, "bedrock: status 400: ValidationException: messages.1: bad (request r-1)"},
		{refusal{529, "", "x"}, model.KindOverloaded, "bedrock: status 529: UnknownError: x (request r-1)"},
		{refusal{502, "", "x"}, model.KindProvider, "bedrock: status 502: UnknownError: x (request r-1)"},
		{refusal{413, "", "x"}, model.KindOverflow, "bedrock: status 413: UnknownError: x (request r-1)"},
		{refusal{418, "", "x"}, model.KindInvalid, "bedrock: status 418: UnknownError: x (request r-1)"},
	}
	for _, test := range tests {
		t.Run(fmt.Sprint(test.refusal), func(t *testing.T) {
			asked := 0
			m := fake(t, func(w http.ResponseWriter, _ *http.Request) {
				asked++
				bedrocktest.Refuse(w, test.refusal.status, test.refusal.code, test.refusal.message)
			})
			for _, err := range m.Stream(t.Context(), hello()) {
				var e *model.Error
				if !errors.As(err, &e) || e.Kind != test.kind || e.Status != test.refusal.status || e.Message != test.want {
					t.Errorf("got %+v\nwant %s: %s", err, test.kind, test.want)
				}
			}
			if asked != 1 {
				t.Errorf("%d requests, want one: others repeat", asked)
			}
		})
	}
}

func TestARefusalTellsTheWindow(t *testing.T) {
	for message, want := range map[string]int{"prompt is too long: 210000 tokens > 200000 maximum": 200_000, "Input is too long for requested model.": 0} {
		m := fake(t, func(w http.ResponseWriter, _ *http.Request) {
			bedrocktest.Refuse(w, 400, "ValidationException", message)
		})
		for _, err := range m.Stream(t.Context(), hello()) {
			if e, ok := errors.AsType[*model.Error](err); !ok || e.Kind != model.KindOverflow || e.Limit != want {
				t.Errorf("%s: %+v, want a limit of %d", message, err, want)
			}
		}
	}
}

func TestExceptionsInsideAStream(t *testing.T) {
	tests := []struct {
		frame []byte
		kind  model.ErrorKind
		want  string
	}{
		{bedrocktest.Exception("throttlingException", "slow down"), model.KindRateLimited, "bedrock: ThrottlingException: slow down"},
		{bedrocktest.Exception("internalServerException", "x"), model.KindProvider, "bedrock: InternalServerException: x"},
		{bedrocktest.Exception("modelStreamErrorException", "x"), model.KindProvider, "bedrock: ModelStreamErrorException: x"},
		{bedrocktest.Exception("serviceUnavailableException", "x"), model.KindOverloaded, "bedrock: ServiceUnavailableException: x"},
		{bedrocktest.Exception("validationException", "prompt is too long: 9 tokens"), model.KindOverflow, "bedrock: ValidationException: prompt is too long: 9 tokens"},
		{bedrocktest.Exception("newException", "x"), model.KindProvider, "bedrock: newException: x"},
		{bedrocktest.Unmodeled("InternalError", "x"), model.KindProvider, "bedrock: InternalError: x"},
	}
	for _, test := range tests {
		t.Run(test.want, func(t *testing.T) {
			var last error
			for _, err := range fake(t, frames(bedrocktest.Start(), bedrocktest.Text(0, "a"), test.frame)).Stream(t.Context(), hello()) {
				last = err
			}
			var e *model.Error
			if !errors.As(last, &e) || e.Kind != test.kind || e.Message != test.want || e.Status != 0 {
				t.Errorf("got %+v\nwant %s: %s", last, test.kind, test.want)
			}
		})
	}
}

func TestAResponseThatIsNoneOfTheAPI(t *testing.T) {
	m := fake(t, func(w http.ResponseWriter, _ *http.Request) {
		w.WriteHeader(http.StatusBadGateway)
		_, _ = io.WriteString(w, "<html>Bad Gateway</html>")
	})
	for _, err := range m.Stream(t.Context(), hello()) {
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindProvider || e.Status != 502 || e.Message != "bedrock: status 502: Unknown: a response that is not JSON" {
			t.Errorf("got %+v", err)
		}
	}
}

func TestNoServer(t *testing.T) {
	server := httptest.NewServer(http.NotFoundHandler())
	server.Close()
	m, err := open(Options{AWS: environment(server.URL)})
	if err != nil {
		t.Fatal(err)
	}
	for _, err := range m.Stream(t.Context(), hello()) {
		var e *model.Error
		if !errors.As(err, &e) || e.Kind != model.KindProvider || !strings.HasPrefix(e.Message, "bedrock: no response: ") {
			t.Errorf("got %+v", err)
		}
	}
}

func TestASilentStream(t *testing.T) {
	tests := []struct {
		name   string
		frames [][]byte // nil: not even headers
		kind   model.ErrorKind
	}{
		{"no response", nil, model.KindTimeout},
		{"no delta", [][]byte{bedrocktest.Start()}, model.KindTimeout},
		{"in the middle", [][]byte{bedrocktest.Start(), bedrocktest.Text(0, "a")}, model.KindInterrupted},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			m := fake(t, func(w http.ResponseWriter, r *http.Request) {
				if test.frames != nil {
					bedrocktest.Serve(w, test.frames...)
				}
				_, _ = io.Copy(io.Discard, r.Body)
				<-r.Context().Done()
			})
			request := hello()
			request.StreamIdleTimeout = 300 * time.Millisecond
			var last error
			for _, err := range m.Stream(t.Context(), request) {
				last = err
			}
			var e *model.Error
			if !errors.As(last, &e) || e.Kind != test.kind || e.Message != "bedrock: no data for 300ms" {
				t.Errorf("got %+v, want %s", last, test.kind)
			}
		})
	}
}

// TestASilentEndIsATurn: what comes behind messageStop is usage alone.
func TestASilentEndIsATurn(t *testing.T) {
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		bedrocktest.Serve(w, bedrocktest.Start(), bedrocktest.Text(0, "a"), bedrocktest.Stop("end_turn"))
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
	})
	request := hello()
	request.StreamIdleTimeout = 50 * time.Millisecond
	if diff := cmp.Diff([]string{"text a", "stop end_turn"}, tell(t.Context(), m, request)); diff != "" {
		t.Error(diff)
	}
}

func TestACancelEndsTheStream(t *testing.T) {
	gone := make(chan struct{})
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		bedrocktest.Serve(w, bedrocktest.Start(), bedrocktest.Text(0, "a"))
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(gone)
	})
	ctx, cancel := context.WithCancel(t.Context())
	defer cancel()
	var last error
	for _, err := range m.Stream(ctx, hello()) {
		cancel()
		last = err
	}
	if !errors.Is(last, context.Canceled) || last.Error() != "bedrock: inference: context canceled" {
		t.Errorf("error %v", last)
	}
	<-gone
}

// TestAServiceThatRespondsEarly has not read the request when it begins to respond.
func TestAServiceThatRespondsEarly(t *testing.T) {
	request := hello()
	request.Messages[0].Content[0].Text = strings.Repeat("x", 8<<20)
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		_ = http.NewResponseController(w).EnableFullDuplex()
		bedrocktest.Serve(w, bedrocktest.Start(), bedrocktest.Text(0, "a"))
		n, _ := io.Copy(io.Discard, r.Body)
		bedrocktest.Send(w, bedrocktest.Text(0, fmt.Sprint(n)), bedrocktest.Stop("end_turn"))
	})
	if diff := cmp.Diff([]string{"text a", "text 8388662", "stop end_turn"}, tell(t.Context(), m, request)); diff != "" {
		t.Error(diff)
	}
}

func TestBreakingOutClosesTheConnection(t *testing.T) {
	gone := make(chan struct{})
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		bedrocktest.Serve(w, bedrocktest.Start(), bedrocktest.Text(0, "a"))
		_, _ = io.Copy(io.Discard, r.Body)
		<-r.Context().Done()
		close(gone)
	})
	for range m.Stream(t.Context(), hello()) {
		break
	}
	<-gone
}

// TestConnectionsAreUsedAgain: the end of a response is read.
func TestConnectionsAreUsedAgain(t *testing.T) {
	seen := map[string]bool{}
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		seen[r.RemoteAddr] = true
		bedrocktest.Serve(w, bedrocktest.Start(), bedrocktest.Stop("end_turn"), bedrocktest.Usage(1, 2, 0, 0))
	})
	for range 3 {
		tell(t.Context(), m, hello())
	}
	if len(seen) != 1 {
		t.Errorf("%d connections, want one", len(seen))
	}
}

func TestRequestsAreSigned(t *testing.T) {
	var path, authorization string
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		path, authorization = r.URL.EscapedPath(), r.Header.Get("Authorization")
		bedrocktest.Serve(w, bedrocktest.Stop("end_turn"))
	})
	request := hello()
	request.Model = "arn:aws:bedrock:us-east-1:1:inference-profile/us.anthropic.claude-sonnet-4-5-20250929-v1:0"
	tell(t.Context(), m, request)
	if want := "/model/arn%3Aaws%3Abedrock%3Aus-east-1%3A1%3Ainference-profile%2Fus.anthropic.claude-sonnet-4-5-20250929-v1%3A0/converse-stream"; path != want {
		t.Errorf("path %s", path)
	}
	if !strings.HasPrefix(authorization, "AWS4-HMAC-SHA256 Credential=AKIDEXAMPLE/") || !strings.Contains(authorization, "/us-east-1/bedrock/aws4_request") {
		t.Errorf("Authorization %s", authorization)
	}
}

func TestABearerTokenComesBeforeKeys(t *testing.T) {
	const token = "bedrock-api-key-secret"
	var authorization string
	server := httptest.NewTLSServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		authorization = r.Header.Get("Authorization")
		bedrocktest.Refuse(w, 403, "AccessDeniedException", "the key "+token+" is not valid")
	}))
	t.Cleanup(server.Close)
	config := environment(server.URL, "AWS_BEARER_TOKEN_BEDROCK", token, "AWS_ACCESS_KEY_ID", "")
	config.Transport = server.Client().Transport
	m, err := open(Options{AWS: config})
	if err != nil {
		t.Fatal(err)
	}
	got := tell(t.Context(), m, hello())
	if diff := cmp.Diff([]string{"error bedrock: status 403: AccessDeniedException: the key *** is not valid (request r-1)"}, got); diff != "" {
		t.Error(diff)
	}
	if authorization != "Bearer "+token {
		t.Errorf("Authorization %s", authorization)
	}
}

func TestNewNamesWhatIsWrong(t *testing.T) {
	tests := []struct {
		name    string
		options Options
		want    string
	}{
		{"no keys", Options{AWS: environment("", "AWS_SECRET_ACCESS_KEY", "")}, "Bedrock client: environment variable AWS_SECRET_ACCESS_KEY is not set"},
		{"no region", Options{AWS: environment("", "AWS_REGION", "")}, "Bedrock client: environment variable AWS_REGION is not set"},
		{"no URL", Options{AWS: environment("localhost:1")}, "Bedrock client: environment variable AWS_ENDPOINT_URL_BEDROCK_RUNTIME is not an http or https URL"},
		{"a token with a line end", Options{AWS: environment("", "AWS_BEARER_TOKEN_BEDROCK", "k\n")}, "Bedrock client: environment variable AWS_BEARER_TOKEN_BEDROCK has a space, a line end or another character that a header cannot carry"},
		{"a negative time", Options{AWS: environment(""), IdleTimeout: -time.Second}, "bedrock: idle timeout -1s is negative"},
		{"a token alone", Options{AWS: environment("", "AWS_BEARER_TOKEN_BEDROCK", "k", "AWS_ACCESS_KEY_ID", "")}, "<nil>"},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			if _, err := open(test.options); fmt.Sprint(err) != test.want {
				t.Errorf("error %v, want %s", err, test.want)
			}
		})
	}
}

// sent is what a request looks like on the wire.
func sent(t *testing.T, request model.Request) string {
	t.Helper()
	var got []byte
	m := fake(t, func(w http.ResponseWriter, r *http.Request) {
		got, _ = io.ReadAll(r.Body)
		bedrocktest.Serve(w, bedrocktest.Stop("end_turn"))
	})
	if lines := tell(t.Context(), m, request); len(got) == 0 {
		return strings.Join(lines, "\n")
	}
	if !json.Valid(got) {
		t.Fatalf("no JSON: %s", got)
	}
	return string(got)
}
