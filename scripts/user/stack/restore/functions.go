package restore

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net/url"
	"slices"
	"time"
)

// stop turns off what starts functions, and then the functions themselves. First it notes what
// is on, so that start can turn on the same.
func (r *Restore) stop(ctx context.Context) error {
	if !r.state.Found {
		if err := r.find(ctx); err != nil {
			return err
		}
		r.state.Found = true
		if err := r.save(); err != nil {
			return err
		}
	}
	for _, id := range r.state.Mappings {
		if err := r.mapping(ctx, id, false); err != nil {
			return err
		}
	}
	for _, name := range r.state.Schedules {
		if err := r.schedule(ctx, name, "DISABLED"); err != nil {
			return err
		}
	}
	for _, name := range slices.Sorted(maps.Keys(r.state.Reserved)) {
		if err := r.reserve(ctx, name, new(int)); err != nil {
			return err
		}
		fmt.Fprintf(r.Out, "  %s is stopped\n", name)
	}
	if r.state.Stopped.IsZero() {
		r.state.Stopped = r.Now()
		return r.save()
	}
	return nil
}

// find notes the reserved concurrency of each function, the longest timeout, and the mappings
// and schedules that are on.
func (r *Restore) find(ctx context.Context) error {
	r.state.Reserved = map[string]*int{}
	for _, id := range slices.Sorted(maps.Keys(r.Functions)) {
		name := r.Functions[id]
		path := "/functions/" + name
		timed, err := get[struct{ Timeout int }](ctx, r.Account.lambda, "GET", "/2015-03-31"+path+"/configuration", nil, nil)
		if err != nil {
			return err
		}
		r.state.Longest = max(r.state.Longest, time.Duration(timed.Timeout)*time.Second)
		reserved, err := get[struct{ ReservedConcurrentExecutions *int }](ctx, r.Account.lambda, "GET", "/2019-09-30"+path+"/concurrency", nil, nil)
		if err != nil {
			return err
		}
		r.state.Reserved[name] = reserved.ReservedConcurrentExecutions
		if n := reserved.ReservedConcurrentExecutions; n != nil && *n == 0 {
			fmt.Fprintf(r.Out, "  %s is stopped already: it will have no reserved concurrency when it starts\n", name)
			r.state.Reserved[name] = nil
		}
		if err := r.findMappings(ctx, name+":live"); err != nil {
			return err
		}
	}
	for _, name := range r.Schedules {
		s, err := get[struct{ State string }](ctx, r.Account.scheduler, "GET", "/schedules/"+name, nil, nil)
		if err != nil {
			return err
		}
		if s.State == "ENABLED" {
			r.state.Schedules = append(r.state.Schedules, name)
		}
	}
	return nil
}

// findMappings notes the event source mappings of an alias that are on.
func (r *Restore) findMappings(ctx context.Context, alias string) error {
	for query := (url.Values{"FunctionName": {alias}}); ; {
		page, err := get[struct {
			EventSourceMappings []struct{ UUID, State string }
			NextMarker          string
		}](ctx, r.Account.lambda, "GET", "/2015-03-31/event-source-mappings", query, nil)
		if err != nil {
			return err
		}
		for _, m := range page.EventSourceMappings {
			if m.State != "Disabled" && m.State != "Disabling" && m.State != "Deleting" {
				r.state.Mappings = append(r.state.Mappings, m.UUID)
			}
		}
		if page.NextMarker == "" {
			return nil
		}
		query.Set("Marker", page.NextMarker)
	}
}

// start turns on what stop turned off.
func (r *Restore) start(ctx context.Context) error {
	for _, name := range slices.Sorted(maps.Keys(r.state.Reserved)) {
		if err := r.reserve(ctx, name, r.state.Reserved[name]); err != nil {
			return err
		}
	}
	for _, id := range r.state.Mappings {
		if err := r.mapping(ctx, id, true); err != nil {
			return err
		}
	}
	for _, name := range r.state.Schedules {
		if err := r.schedule(ctx, name, "ENABLED"); err != nil {
			return err
		}
	}
	return nil
}

// reserve sets the reserved concurrency of a function. nil: none.
func (r *Restore) reserve(ctx context.Context, name string, n *int) error {
	path := "/2017-10-31/functions/" + name + "/concurrency"
	var err error
	if n == nil {
		_, err = r.Account.lambda.send(ctx, "DELETE", path, nil, nil)
	} else {
		_, err = r.Account.lambda.send(ctx, "PUT", path, nil, map[string]int{"ReservedConcurrentExecutions": *n})
	}
	return err
}

// mapping turns an event source mapping on or off. One that was deleted since stays so: the
// deployment has replaced it.
func (r *Restore) mapping(ctx context.Context, id string, on bool) error {
	_, err := r.Account.lambda.send(ctx, "PUT", "/2015-03-31/event-source-mappings/"+id, nil, map[string]bool{"Enabled": on})
	var refused *refusal
	if errors.As(err, &refused) && refused.status == 404 {
		fmt.Fprintf(r.Out, "  event source mapping %s does not exist any more\n", id)
		return nil
	}
	return err
}

// schedule sets the state of a schedule. The service replaces all of a schedule, so it gets
// back what it returned.
func (r *Restore) schedule(ctx context.Context, name, state string) error {
	s, err := get[map[string]any](ctx, r.Account.scheduler, "GET", "/schedules/"+name, nil, nil)
	if err != nil || s["State"] == state {
		return err
	}
	for _, field := range []string{"Arn", "CreationDate", "LastModificationDate", "Name"} { // not part of a change
		delete(s, field)
	}
	s["State"] = state
	_, err = r.Account.scheduler.send(ctx, "PUT", "/schedules/"+name, nil, s)
	return err
}
