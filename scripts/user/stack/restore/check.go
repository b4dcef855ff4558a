package restore

import (
	"context"

	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/s3"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/core/env"
)

// Examine reads every thread of two tables with its log and payload objects, while no function
// runs, and returns the results. Threads that are late by now are a warning.
func (a *Account) Examine(ctx context.Context, threads, config, bucket string) ([]doctor.Line, error) {
	options := dynamo.Options{Table: threads, ConfigTable: config}
	if bucket != "" {
		objects, err := s3.New(a.config, bucket)
		if err != nil {
			return nil, err
		}
		options.Objects = objects
	}
	store := dynamo.New(a.tables, options)
	return doctor.Examine(ctx, doctor.Options{Env: env.System(), Store: store, Threads: store.Threads, All: true, Stopped: true})
}
