package eventbridge

import (
	"context"
	"encoding/json"
	"fmt"
	"net/http"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/internal/awsapi"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// source is that of every event.
const source = "reveille"

// publisher implements mailbox.Publisher.
type publisher struct {
	name    string
	service *awsapi.Service
}

// New returns a publisher, safe for concurrent use, to the bus with the given name or
// ARN. The environment configures the connection; AWS_ENDPOINT_URL_EVENTBRIDGE replaces
// the region's endpoint. A missing variable is an error that names it. If env is nil, the
// system's clock is used for signatures.
func New(c awsenv.Config, e *env.Env, name string) (mailbox.Publisher, error) {
	if e == nil {
		e = env.System()
	}
	c.MaxAttempts = 1
	service, err := awsapi.New(c, awsapi.Options{Title: "EventBridge", Signing: "events", Endpoint: "AWS_ENDPOINT_URL_EVENTBRIDGE", Now: e.Now})
	if err != nil {
		return nil, err
	}
	return &publisher{name, service}, nil
}

// entry is one event of PutEvents.
type entry struct {
	EventBusName string
	Source       string
	DetailType   string
	Detail       string
	Time         int64 // unix seconds
}

// Publish implements mailbox.Publisher. It tries once: what fails comes again.
func (b *publisher) Publish(ctx context.Context, a mailbox.Announcement) error {
	detail, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode announcement: %w", err)
	}
	body, err := json.Marshal(struct{ Entries []entry }{[]entry{{b.name, source, string(a.Type), string(detail), a.At.Unix()}}})
	if err != nil {
		return fmt.Errorf("encode event: %w", err)
	}
	response, err := b.send(ctx, "PutEvents", body)
	if err != nil {
		return fmt.Errorf("put event on bus %s: %w", b.name, err)
	}
	var put struct {
		FailedEntryCount int
		Entries          []struct{ ErrorCode, ErrorMessage string }
	}
	if err := json.Unmarshal(response, &put); err != nil {
		return core.Errorf(core.CodeUnavailable, "put event on bus %s: the response is not JSON", b.name)
	}
	if put.FailedEntryCount > 0 || len(put.Entries) != 1 || put.Entries[0].ErrorCode != "" {
		code := "no entry"
		if len(put.Entries) > 0 {
			code = put.Entries[0].ErrorCode + ": " + put.Entries[0].ErrorMessage
		}
		return core.Errorf(core.CodeUnavailable, "put event on bus %s: %s", b.name, core.Excerpt(code))
	}
	return nil
}

// send makes a call of the service and returns the body of its response.
func (b *publisher) send(ctx context.Context, call string, body []byte) ([]byte, error) {
	response, err := b.service.Target(ctx, "AWSEvents."+call, body)
	if err == nil && response.Status != http.StatusOK {
		err = core.Errorf(core.CodeUnavailable, "status %d: %s", response.Status, core.Excerpt(string(response.Body)))
	}
	return response.Body, err
}
