// Package cloud opens what every function on AWS has: its settings and its
// clients. It links nothing of the runtime, so that the sweep stays small.
package cloud

import (
	"fmt"
	"log/slog"
	"os"

	"github.com/reveille-run/reveille/adapters/awsenv"
	"github.com/reveille-run/reveille/adapters/dynamo"
	"github.com/reveille-run/reveille/adapters/sqs"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/killpoints"
	"github.com/reveille-run/reveille/functions/settings"
)

// Function is what a function on AWS has.
type Function struct {
	Settings settings.Settings
	Env      *env.Env
	Store    *dynamo.Store
	Queue    *sqs.Queue
	Logger   *slog.Logger
}

// Open reads the environment, limits Go's memory and makes the clients. It calls
// nothing yet. An error names the variable that is missing or wrong.
func Open() (*Function, error) {
	s, err := settings.Read(os.Environ(), killpoints.Variables()...)
	if err != nil {
		return nil, err
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
	LimitMemory()
	e := env.System()
	e.Reach = killpoints.Reach(e.Reach)
	return &Function{
		Settings: s, Env: e,
		Store: dynamo.New(tables, dynamo.Options{Table: s.Table, ConfigTable: s.Config}), Queue: sqs.New(queue, s.QueueURL),
		Logger: slog.New(slog.NewJSONHandler(os.Stderr, &slog.HandlerOptions{Level: s.LogLevel})),
	}, nil
}
