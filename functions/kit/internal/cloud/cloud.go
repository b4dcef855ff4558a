// Package cloud opens the settings and the clients of a function on AWS. It does not link
// the runtime, so that the sweep stays small.
package cloud

import (
	"fmt"
	"log/slog"
	"os"
	"time"

	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/internal/killpoints"
	_ "github.com/reveille-run/reveille/functions/kit/internal/stack" // before all other packages: see there
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// Function has the settings and the clients of a function on AWS.
type Function struct {
	Kind     string // api, stream, step, sweep or trigger; set by the main of the function
	Settings settings.Settings
	Env      *env.Env
	Store    *dynamo.Store
	Queue    *sqs.Queue
	// DeadLetters is the queue of wake-ups that failed too often; nil if
	// REVEILLE_DEAD_LETTER_QUEUE_URL is not set.
	DeadLetters *sqs.Queue
	Logger      *slog.Logger
}

// objectTimeout is the time of one attempt with an object. The largest object has 16 MB.
const objectTimeout = 10 * time.Second

// maxEvent is the size of the largest event with which Lambda invokes a function.
const maxEvent = 6 << 20

// Open reads the environment, limits Go's memory and makes the clients. It sends no
// request. An error names the variable that is missing or wrong.
func Open() (*Function, error) {
	s, err := settings.Read(os.Environ(), killpoints.Variables()...)
	if err != nil {
		return nil, err
	}
	if s.Agents != "" {
		return nil, fmt.Errorf("environment variable REVEILLE_AGENTS is set, which only the local host reads: on AWS embed the files and add them in app.Parts, see functions/guides/agents-in-yaml.md")
	}
	if s.Proxy {
		return nil, fmt.Errorf("environment variable REVEILLE_EGRESS_PROXY is on, which only the local host allows: functions on AWS use no proxy, unset it")
	}
	if s.MaxBody > maxEvent {
		return nil, fmt.Errorf("environment variable REVEILLE_MAX_BODY is %d bytes, allowed on AWS: at most 6MB, since Lambda accepts no larger event", s.MaxBody)
	}
	if s.Table == "" || s.Config == "" || s.QueueURL == "" {
		return nil, fmt.Errorf("environment variables REVEILLE_TABLE, REVEILLE_CONFIG_TABLE and REVEILLE_QUEUE_URL are required")
	}
	tables, err := dynamo.NewClient(awsenv.Config{})
	if err != nil {
		return nil, err
	}
	queue, err := sqs.NewClient(awsenv.Config{})
	if err != nil {
		return nil, err
	}
	options := dynamo.Options{Table: s.Table, ConfigTable: s.Config}
	if s.Bucket != "" {
		bucket, err := s3.New(awsenv.Config{Timeout: objectTimeout}, s.Bucket)
		if err != nil {
			return nil, err
		}
		options.Objects = bucket
	}
	limitMemory()
	var dead *sqs.Queue
	if s.DeadLetterURL != "" {
		dead = sqs.New(queue, s.DeadLetterURL)
	}
	e := env.System()
	e.Reach = killpoints.Reach(e.Reach)
	return &Function{
		Settings: s, Env: e,
		Store: dynamo.New(tables, options), Queue: sqs.New(queue, s.QueueURL), DeadLetters: dead,
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel})),
	}, nil
}
