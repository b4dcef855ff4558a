package lambda

import (
	"context"
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"testing"

	"github.com/aws/aws-lambda-go/events"
)

// post does with a response what the runtime client does.
func post(t *testing.T, response any) (body, contentType string, closed func() error) {
	t.Helper()
	if encoded, err := json.Marshal(response); err != nil || string(encoded) != "{}" {
		t.Fatalf("encoded %s, %v; the client reads only what encodes as {}", encoded, err)
	}
	b, err := io.ReadAll(response.(io.Reader))
	if err != nil {
		t.Fatal(err)
	}
	return string(b), response.(interface{ ContentType() string }).ContentType(), response.(io.Closer).Close
}

func TestAfterResponseIsCalledOnceTheResponseIsPosted(t *testing.T) {
	batch := func(context.Context, events.SQSEvent) (events.SQSEventResponse, error) {
		return events.SQSEventResponse{BatchItemFailures: []events.SQSBatchItemFailure{{ItemIdentifier: "m1"}}}, nil
	}
	calls := 0
	response, err := AfterResponse(batch, func() { calls++ })(t.Context(), events.SQSEvent{})
	if err != nil {
		t.Fatal(err)
	}
	body, contentType, closed := post(t, response)
	if want := `{"batchItemFailures":[{"itemIdentifier":"m1"}]}`; body != want || contentType != "application/json" || calls != 0 {
		t.Errorf("%s as %s after %d calls, want %s as application/json after none", body, contentType, calls, want)
	}
	if err := closed(); err != nil || calls != 1 {
		t.Errorf("%d calls when it was posted, %v; want 1", calls, err)
	}
}

func TestAfterResponseIsCalledWhenAStreamsHandlerHasEnded(t *testing.T) {
	ended, calls := false, 0
	release := make(chan struct{})
	handler := Handlers{Logger: quiet}.Stream(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = io.WriteString(w, "hello")
		<-release
		ended = true
	}))
	response, err := AfterResponse(handler, func() {
		if calls++; !ended {
			t.Error("the handler goes on")
		}
	})(t.Context(), json.RawMessage(urlGet))
	if err != nil {
		t.Fatal(err)
	}
	close(release)
	body, contentType, closed := post(t, response)
	if contentType != "application/vnd.awslambda.http-integration-response" || body[len(body)-5:] != "hello" || calls != 0 {
		t.Errorf("%q as %s after %d calls", body, contentType, calls)
	}
	if err := closed(); err != nil || calls != 1 {
		t.Errorf("%d calls when it was posted, %v; want 1", calls, err)
	}
}

func TestAfterResponsePassesFailuresOn(t *testing.T) {
	broken := errors.New("broken")
	failing := func(context.Context, json.RawMessage) (any, error) { return nil, broken }
	done := func() { t.Error("called without a response") }
	if response, err := AfterResponse(failing, done)(t.Context(), nil); response != nil || !errors.Is(err, broken) {
		t.Errorf("%v, %v; want the handler's error", response, err)
	}
	unencodable := func(context.Context, json.RawMessage) (any, error) { return func() {}, nil }
	var unsupported *json.UnsupportedTypeError
	if response, err := AfterResponse(unencodable, done)(t.Context(), nil); response != nil || !errors.As(err, &unsupported) {
		t.Errorf("%v, %v; want that it cannot be encoded", response, err)
	}
}
