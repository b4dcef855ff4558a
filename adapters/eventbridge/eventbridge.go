package eventbridge

import (
	"bytes"
	"context"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"net/http"
	"strings"

	v4 "github.com/aws/aws-sdk-go-v2/aws/signer/v4"

	"github.com/reveille-run/reveille/adapters/awsenv"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Source is the source of every event.
const Source = "reveille"

// Bus is a mailbox.Publisher that puts events on a bus. It is safe for concurrent use.
type Bus struct {
	name     string
	endpoint string
	settings awsenv.Settings
	env      *env.Env
}

// New returns the bus of a name or ARN, reached as the environment says;
// AWS_ENDPOINT_URL_EVENTBRIDGE names another endpoint than the region's. A missing
// variable is an error that names it. A nil env is the system's: its clock signs.
func New(c awsenv.Config, e *env.Env, name string) (*Bus, error) {
	s, err := c.Settings("EventBridge", "AWS_ENDPOINT_URL_EVENTBRIDGE")
	if err != nil {
		return nil, err
	}
	if e == nil {
		e = env.System()
	}
	b := &Bus{name: name, settings: s, env: e, endpoint: "https://events." + s.Region + ".amazonaws.com"}
	if strings.HasPrefix(s.Region, "cn-") {
		b.endpoint += ".cn"
	}
	if s.BaseEndpoint != nil {
		b.endpoint = strings.TrimSuffix(*s.BaseEndpoint, "/")
	}
	return b, nil
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
func (b *Bus) Publish(ctx context.Context, a mailbox.Announcement) error {
	detail, err := json.Marshal(a)
	if err != nil {
		return fmt.Errorf("encode announcement: %w", err)
	}
	body, err := json.Marshal(struct{ Entries []entry }{[]entry{{b.name, Source, string(a.Type), string(detail), a.At.Unix()}}})
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
		return core.Errorf(core.CodeUnavailable, "put event on bus %s: the response is no JSON", b.name)
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

// send signs a call of the service and returns the body of its response.
func (b *Bus) send(ctx context.Context, call string, body []byte) ([]byte, error) {
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, b.endpoint+"/", bytes.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/x-amz-json-1.1")
	request.Header.Set("X-Amz-Target", "AWSEvents."+call)
	credentials, err := b.settings.Credentials.Retrieve(ctx)
	if err != nil {
		return nil, err
	}
	sum := sha256.Sum256(body)
	if err := v4.NewSigner().SignHTTP(ctx, credentials, request, hex.EncodeToString(sum[:]), "events", b.settings.Region, b.env.Now()); err != nil {
		return nil, err
	}
	response, err := b.settings.HTTPClient.Do(request)
	if err != nil {
		return nil, err
	}
	defer response.Body.Close()
	text, err := io.ReadAll(io.LimitReader(response.Body, 64<<10))
	if err == nil && response.StatusCode != http.StatusOK {
		err = core.Errorf(core.CodeUnavailable, "status %d: %s", response.StatusCode, core.Excerpt(string(text)))
	}
	return text, err
}
