package model_test

import (
	"context"
	"encoding/binary"
	"errors"
	"iter"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/model"
)

// item is one step of a scripted attempt.
type item struct {
	delta model.Delta
	err   error
}

// attempts is a model that answers its n-th call with the n-th script, the last
// one from then on, and records when it was called.
type attempts struct {
	scripts [][]item
	began   time.Time
	calls   []time.Duration // since began
}

func (a *attempts) Stream(context.Context, model.Request) iter.Seq2[model.Delta, error] {
	return func(yield func(model.Delta, error) bool) {
		script := a.scripts[min(len(a.calls), len(a.scripts)-1)]
		a.calls = append(a.calls, time.Since(a.began))
		for _, i := range script {
			if !yield(i.delta, i.err) {
				return
			}
		}
	}
}

// drawing is the real world inside a synctest bubble, whose random numbers are
// all n.
func drawing(n time.Duration) *env.Env {
	e := env.System()
	e.Random = func(b []byte) { binary.BigEndian.PutUint64(b, uint64(n)) }
	return e
}

func text(s string) item { return item{delta: model.Delta{Type: model.DeltaText, Text: s}} }

func fails(kind model.ErrorKind, retryAfter time.Duration) []item {
	return []item{{err: &model.Error{Kind: kind, Message: string(kind), RetryAfter: retryAfter}}}
}

var (
	stop = item{delta: model.Delta{Type: model.DeltaStop, Stop: core.StopEndTurn}}
	good = []item{text("hello"), stop}
)

const (
	ms  = time.Millisecond
	top = 120*time.Second - 1 // one below a multiple of every limit: draws the longest wait
)

var waits = []struct {
	name     string
	scripts  [][]item
	retry    model.Retry
	draw     time.Duration
	deadline time.Duration // 0: none
	calls    []time.Duration
	err      string
}{
	{name: "success is not repeated", scripts: [][]item{good}, calls: []time.Duration{0}},
	{name: "two retries by default", scripts: [][]item{fails(model.KindProvider, 0)}, draw: 400 * ms,
		calls: []time.Duration{0, 400 * ms, 800 * ms}, err: "provider"},
	{name: "the limit of the draw doubles", scripts: [][]item{fails(model.KindProvider, 0)}, draw: top, retry: model.Retry{Max: 3},
		calls: []time.Duration{0, 500*ms - 1, 1500*ms - 2, 3500*ms - 3}, err: "provider"},
	{name: "overloaded starts at two seconds", scripts: [][]item{fails(model.KindOverloaded, 0)}, draw: top,
		calls: []time.Duration{0, 2000*ms - 1, 6000*ms - 2}, err: "overloaded"},
	{name: "the cap is 30 seconds", scripts: [][]item{fails(model.KindTimeout, 0)}, draw: top, retry: model.Retry{Max: 3, Base: 20 * time.Second},
		calls: []time.Duration{0, 20000*ms - 1, 50000*ms - 2, 80000*ms - 3}, err: "timeout"},
	{name: "own cap and bases", scripts: [][]item{fails(model.KindOverloaded, 0), fails(model.KindProvider, 0), good}, draw: top,
		retry: model.Retry{Base: 100 * ms, OverloadedBase: 50 * ms, Cap: 150 * ms},
		calls: []time.Duration{0, 50*ms - 1, 200*ms - 2}},
	{name: "retry-after is honoured", scripts: [][]item{fails(model.KindRateLimited, 7*time.Second), good}, draw: 400 * ms,
		calls: []time.Duration{0, 7000 * ms}},
	{name: "a shorter retry-after does not shorten", scripts: [][]item{fails(model.KindRateLimited, 100*ms), good}, draw: 400 * ms,
		calls: []time.Duration{0, 400 * ms}},
	{name: "a retry-after of the cap is waited for", scripts: [][]item{fails(model.KindRateLimited, 30*time.Second), good},
		calls: []time.Duration{0, 30000 * ms}},
	{name: "a retry-after beyond the cap is returned", scripts: [][]item{fails(model.KindRateLimited, 30*time.Second+1)},
		calls: []time.Duration{0}, err: "rate_limited"},
	{name: "none when negative", scripts: [][]item{fails(model.KindProvider, 0)}, retry: model.Retry{Max: -1},
		calls: []time.Duration{0}, err: "provider"},
	{name: "a permanent error is returned", scripts: [][]item{fails(model.KindQuota, time.Second)},
		calls: []time.Duration{0}, err: "quota"},
	{name: "another error is returned", scripts: [][]item{{{err: errors.New("bug")}}},
		calls: []time.Duration{0}, err: "bug"},
	{name: "an empty answer is repeated", scripts: [][]item{nil, good}, draw: 300 * ms,
		calls: []time.Duration{0, 300 * ms}},
	{name: "an empty answer is an error in the end", scripts: [][]item{nil}, draw: 300 * ms,
		calls: []time.Duration{0, 300 * ms, 600 * ms}, err: "the model answered nothing"},
	{name: "the reserve is just kept", scripts: [][]item{fails(model.KindRateLimited, 7*time.Second), good}, deadline: 9 * time.Second,
		calls: []time.Duration{0, 7000 * ms}},
	{name: "the reserve would be broken", scripts: [][]item{fails(model.KindRateLimited, 7*time.Second)}, deadline: 9*time.Second - 1,
		calls: []time.Duration{0}, err: "rate_limited"},
	{name: "own reserve", scripts: [][]item{fails(model.KindRateLimited, 7*time.Second), good}, deadline: 8 * time.Second,
		retry: model.Retry{Reserve: time.Second},
		calls: []time.Duration{0, 7000 * ms}},
}

func TestRetryWaits(t *testing.T) {
	for _, test := range waits {
		t.Run(test.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				inner := &attempts{scripts: test.scripts, began: time.Now()}
				retry := test.retry
				retry.Model, retry.Env = inner, drawing(test.draw)
				ctx := t.Context()
				if test.deadline != 0 {
					var cancel context.CancelFunc
					ctx, cancel = context.WithTimeout(ctx, test.deadline)
					defer cancel()
				}
				answer, err := collect(retry.Stream(ctx, model.Request{}))
				got, want := "", test.err
				if err != nil {
					got = err.Error()
				}
				if got != want {
					t.Errorf("error %q, want %q", got, want)
				}
				if err == nil && answer != "hello" {
					t.Errorf("answer %q, want hello", answer)
				}
				if diff := cmp.Diff(test.calls, inner.calls); diff != "" {
					t.Error(diff)
				}
			})
		})
	}
}

// collect joins the text of a stream; a stream without a stop is an error.
func collect(stream iter.Seq2[model.Delta, error]) (string, error) {
	answer, stopped := "", false
	for delta, err := range stream {
		if err != nil {
			return answer, err
		}
		answer += delta.Text
		stopped = delta.Type == model.DeltaStop
	}
	if !stopped {
		return answer, model.ErrTruncated
	}
	return answer, nil
}

func TestRetryDoesNotRepeatWhatAClientMayHaveSeen(t *testing.T) {
	inner := &attempts{scripts: [][]item{{text("hel"), fails(model.KindInterrupted, 0)[0]}}}
	retry := &model.Retry{Model: inner, Env: drawing(0)}
	answer, err := collect(retry.Stream(t.Context(), model.Request{}))
	if answer != "hel" || !errors.Is(err, model.ErrTruncated) || len(inner.calls) != 1 {
		t.Errorf("answer %q, error %v, %d calls", answer, err, len(inner.calls))
	}
}

func TestRetryStopsWhenTheConsumerDoes(t *testing.T) {
	inner := &attempts{scripts: [][]item{good}}
	retry := &model.Retry{Model: inner, Env: drawing(0)}
	for range retry.Stream(t.Context(), model.Request{}) {
		break
	}
	if len(inner.calls) != 1 {
		t.Errorf("%d calls, want 1", len(inner.calls))
	}
}

func TestRetryEndsWithItsContextDuringAWait(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		ctx, cancel := context.WithCancel(t.Context())
		time.AfterFunc(3*time.Second, cancel)
		began := time.Now()
		inner := &attempts{scripts: [][]item{fails(model.KindRateLimited, 7*time.Second)}}
		retry := &model.Retry{Model: inner, Env: drawing(0)}
		_, err := collect(retry.Stream(ctx, model.Request{}))
		if !errors.Is(err, context.Canceled) || model.Transient(err) {
			t.Errorf("error %v, want a cancellation that is not transient", err)
		}
		if waited := time.Since(began); waited != 3*time.Second {
			t.Errorf("waited %v, want 3s", waited)
		}
	})
}
