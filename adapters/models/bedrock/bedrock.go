package bedrock

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"iter"
	"sync"
	"time"

	"github.com/aws/aws-sdk-go-v2/service/bedrockruntime"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/models/internal/wire"
	"github.com/reveille-run/reveille/core/model"
)

// name begins the adapter's errors.
const name = "bedrock"

const (
	usageTime = 5 * time.Second        // for the usage, which follows the end of a turn
	drainTime = 250 * time.Millisecond // for the end of the body, so that its connection can be used again
)

// Options configures a model. The zero value is right in a Lambda function.
type Options struct {
	// AWS configures the connection to Bedrock and the credentials.
	// AWS_ENDPOINT_URL_BEDROCK_RUNTIME replaces the region's endpoint.
	// AWS_BEARER_TOKEN_BEDROCK is a key of Bedrock itself, which precedes all others.
	// Timeout, MaxAttempts and Backoff are ignored.
	AWS awsenv.Config
	// IdleTimeout bounds every wait for the next event of a response, unless the request
	// has a timeout. Default 60 s.
	IdleTimeout time.Duration
}

// provider implements model.Model.
type provider struct {
	client func() *bedrockruntime.Client
	idle   time.Duration
	redact func(string) string
}

// New reads the environment and returns a model, safe for concurrent use, which also
// implements model.Checker. It makes no request. The error names the variable that is
// missing or wrong.
func New(options Options) (model.Model, error) { return wire.Made(open(options)) }

func open(options Options) (*provider, error) {
	if err := wire.CheckIdle(name, options.IdleTimeout); err != nil {
		return nil, err
	}
	connection, err := connect(options.AWS)
	if err != nil {
		return nil, err
	}
	return &provider{
		client: sync.OnceValue(connection.client),
		idle:   cmp.Or(options.IdleTimeout, wire.DefaultIdleTimeout),
		redact: connection.redact,
	}, nil
}

// Check implements model.Checker.
func (m *provider) Check(request model.Request) error {
	_, err := frame(request, loop{})
	return wire.Refused(err)
}

// Stream implements model.Model. A failure of the provider or of the way to it
// is a *model.Error; when ctx ends, the error wraps ctx.Err() instead. Breaking
// out of the loop closes the connection.
func (m *provider) Stream(ctx context.Context, request model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		err := m.infer(ctx, request, func(d model.Delta) bool { return yield(d, nil) })
		if err == nil {
			return
		}
		if cause := ctx.Err(); cause != nil {
			err = fmt.Errorf("bedrock: inference: %w", cause)
		}
		yield(model.Delta{}, err)
	}
}

// errIdle cancels a stream on which nothing came for too long.
var errIdle = errors.New("idle")

// infer makes the one attempt. It returns nil when the turn is complete and
// when yield asked to stop.
func (m *provider) infer(ctx context.Context, request model.Request, yield func(model.Delta) bool) error {
	input, err := encode(request)
	if err != nil {
		return err
	}
	ctx, cancel := context.WithCancelCause(ctx)
	defer cancel(nil)
	idle := cmp.Or(request.StreamIdleTimeout, m.idle)
	watch := time.AfterFunc(idle, func() { cancel(errIdle) })
	defer watch.Stop()
	response, err := m.client().ConverseStream(ctx, input)
	if err != nil {
		if errors.Is(context.Cause(ctx), errIdle) {
			return silent(model.KindTimeout, idle)
		}
		return m.failure(err)
	}
	stream := response.GetStream()
	defer func() { // the SDK reads in a separate goroutine, which ends with its channel
		cancel(nil)
		_ = stream.Close()
		for range stream.Events() { // nothing is left that counts
		}
	}()
	var t turn
	var halves wire.Joiner
	for watch.Reset(idle); ; watch.Reset(t.patience(idle)) {
		event, more := <-stream.Events()
		watch.Stop()
		if !more {
			break
		}
		deltas, err := t.add(event)
		if err != nil {
			return err
		}
		for _, d := range deltas {
			if !halves.Join(d, yield) {
				return nil
			}
		}
	}
	if t.stopped {
		halves.Join(model.Delta{Type: model.DeltaStop, Stop: t.stop}, yield)
		return nil
	}
	if errors.Is(context.Cause(ctx), errIdle) {
		if t.began {
			return silent(model.KindInterrupted, idle)
		}
		return silent(model.KindTimeout, idle)
	}
	return m.cut(stream.Err())
}

// silent is the error of a provider that sent nothing.
func silent(kind model.ErrorKind, idle time.Duration) error {
	return &model.Error{Kind: kind, Message: fmt.Sprintf("bedrock: no data for %v", idle)}
}
