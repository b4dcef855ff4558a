package main

import (
	"context"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"time"
)

// tally counts the work, for the summary.
type tally struct {
	threads, runs, inputs, repeated, refused, cancels, decisions, streams, resumed, dead atomic.Int64
	modes                                                                                [4]atomic.Int64 // as modeNames
}

var modeNames = []string{modeQueue, modeSteer, modeInterrupt, modeReject}

func (t *tally) accepted(in *input) {
	for i, name := range modeNames {
		if in.Mode == name {
			t.modes[i].Add(1)
		}
	}
}

// missing names the kinds of work that were never done, so that no execution passes with
// too little work.
func (t *tally) missing() (names []string) {
	for i, name := range modeNames {
		if t.modes[i].Load() == 0 {
			names = append(names, "mode "+name)
		}
	}
	for name, n := range map[string]*atomic.Int64{"refusal": &t.refused, "repetition": &t.repeated, "cancel": &t.cancels, "decision": &t.decisions, "resumed stream": &t.resumed} {
		if n.Load() == 0 {
			names = append(names, name)
		}
	}
	slices.Sort(names)
	return names
}

// soak is one go of everything.
type soak struct {
	options
	host   *host
	client *client
	tally  tally
	calm   context.Context // done when the last strike is over
	calmed context.CancelFunc

	mu       sync.Mutex
	found    []violation
	reported map[kind]bool
}

func newSoak(h *host, o options) *soak {
	s := &soak{options: o, host: h, client: newClient(h), reported: map[kind]bool{}}
	s.calm, s.calmed = context.WithCancel(context.Background())
	return s
}

// run starts the host, uses it until the plan is carried out and every thread
// has been judged, and stops it.
func (s *soak) run(ctx context.Context) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	if err := s.host.start(); err != nil {
		s.fail(err)
		return
	}
	var lanes sync.WaitGroup
	for i := range s.threads {
		lanes.Go(func() { s.lane(ctx, i) })
	}
	err := chaos(ctx, s.host, plan(rand.New(rand.NewPCG(s.seed, 0)), s.kills))
	if err != nil {
		s.fail(err)
		cancel()
	}
	s.calmed()
	lanes.Wait()
	if err == nil {
		err = s.host.end(ctx, strike{Term: true, Leave: true})
	} else {
		_ = s.host.end(ctx, strike{Kill: true}) // it may be gone
		return
	}
	if err != nil {
		s.fail(err)
	}
}

// fail records that the host is not what it must be.
func (s *soak) fail(err error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, violation{kindHost, "none", err.Error()})
	fmt.Println(s.found[len(s.found)-1])
}

// inputsPerThread is how often a thread's client acts before the thread is
// judged and the next one begins.
const inputsPerThread = 24

// restTime is how long a thread may continue after the last strike: runs that lost two
// claims to signals continue alone, one after the other.
const restTime = 60 * time.Second

// lane uses one thread after the other.
func (s *soak) lane(ctx context.Context, number int) {
	for n := 0; ctx.Err() == nil && (n == 0 || s.calm.Err() == nil); n++ {
		r := rand.New(rand.NewPCG(s.seed, uint64(number)<<32|uint64(n)+1))
		one := &session{ledger: newLedger(fmt.Sprintf("t%d.%d", number, n)), client: s.client, r: r, tally: &s.tally, asked: make(chan struct{}, 1)}
		deciding, over := context.WithCancel(ctx)
		own := one.fork()
		one.decides.Go(func() { one.approver(deciding, own) })
		s.tally.threads.Add(1)
		for range inputsPerThread {
			if s.calm.Err() != nil || ctx.Err() != nil {
				break
			}
			one.act(ctx)
			_ = pause(ctx, time.Duration(r.Float64()*2*float64(s.pace))) // the loop looks at the context
		}
		s.judge(ctx, one, over)
	}
}

// judge waits until a thread is idle and verifies it.
func (s *soak) judge(ctx context.Context, one *session, over context.CancelFunc) {
	rested := one.rest(ctx, s.calm, restTime)
	over()
	one.decides.Wait()
	if ctx.Err() != nil {
		return
	}
	if rested {
		one.drain(ctx)
	}
	v, found, err := one.verify(ctx)
	if ctx.Err() != nil {
		return
	}
	if err != nil {
		s.fail(err)
		return
	}
	s.tally.runs.Add(int64(len(v.Runs)))
	for _, r := range v.Runs {
		if r.how() == "error dead_letter" {
			s.tally.dead.Add(1)
		}
	}
	if len(found) == 0 {
		return
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.found = append(s.found, found...)
	news := false
	for _, f := range found {
		fmt.Println(f)
		news = news || !s.reported[f.Kind]
		s.reported[f.Kind] = true
	}
	if news { // one whole thread for each kind is enough to begin with
		one.report(v)
	}
}

// drainTime is how long streams may stay open after their thread is at rest.
const drainTime = 30 * time.Second

// drain waits for the readers of a thread's streams.
func (s *session) drain(ctx context.Context) {
	over := make(chan struct{})
	go func() { s.wait.Wait(); close(over) }()
	timer := time.NewTimer(drainTime)
	defer timer.Stop()
	select {
	case <-over:
	case <-ctx.Done():
		<-over // the readers' context is this one
	case <-timer.C:
		s.fault(kindStream, "streams are open %s after the thread has become idle", drainTime)
	}
}

// summary prints the work and the violations.
func (s *soak) summary(took time.Duration) {
	counts := map[kind]int{}
	for _, v := range s.found {
		counts[v.Kind]++
	}
	t := &s.tally
	var line strings.Builder
	fmt.Fprintf(&line, "soak: seed=%d seconds=%.0f sigkills=%d sigterms=%d threads=%d inputs=%d runs=%d", s.seed, took.Seconds(), len(s.host.kills), s.host.terms-1, t.threads.Load(), t.inputs.Load(), t.runs.Load())
	for i, name := range modeNames {
		fmt.Fprintf(&line, " %s=%d", name, t.modes[i].Load())
	}
	fmt.Fprintf(&line, " refusals=%d repeated=%d cancels=%d decisions=%d streams=%d resumed=%d dead_letters=%d requests=%d unanswered=%d errors=%d\n",
		t.refused.Load(), t.repeated.Load(), t.cancels.Load(), t.decisions.Load(), t.streams.Load(), t.resumed.Load(), t.dead.Load(),
		s.client.requests.Load(), s.client.lost.Load(), s.client.errors.Load())
	fmt.Fprintf(&line, "kills=%d runs=%d", s.kills, t.runs.Load())
	for _, k := range kinds {
		fmt.Fprintf(&line, " %s=%d", k, counts[k])
	}
	fmt.Println(line.String(), "violations="+fmt.Sprint(len(s.found)))
}
