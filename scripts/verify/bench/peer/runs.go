package main

import (
	"context"
	"fmt"
	"sync"
	"syscall"
	"time"
)

// runs is BenchmarkHostRuns: clients that each stream one run of two steps after another,
// every run in a session of its own. The processor time is that of the process.
func runs(ctx context.Context, o options) error {
	s, err := serve(o.file, o.clients, scripted{})
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	if err := s.runOnce(ctx, "first"); err != nil {
		return err
	}
	before, used, began := s.syncs(), cpuTime(), time.Now()
	if err := each(o.clients, o.runs, func(i int) error { return s.runOnce(ctx, fmt.Sprint("s", i)) }); err != nil {
		return err
	}
	n := float64(o.runs)
	fmt.Printf("%.0f runs/s %.1f cpu-µs/run %.2f syncs/run\n", n/time.Since(began).Seconds(), float64((cpuTime()-used).Microseconds())/n, float64(s.syncs()-before)/n)
	return nil
}

// runOnce runs two steps in a new session.
func (s *served) runOnce(ctx context.Context, name string) error {
	if _, err := s.create(ctx, name); err != nil {
		return err
	}
	_, err := s.stream(name, "echo: hello")
	return err
}

// each calls do for each number below n, in so many goroutines.
func each(goroutines, n int, do func(int) error) error {
	work, failed := make(chan int), make(chan error, goroutines)
	var wait sync.WaitGroup
	for range goroutines {
		wait.Go(func() {
			for i := range work {
				if err := do(i); err != nil {
					failed <- err
					return
				}
			}
		})
	}
	defer wait.Wait()
	defer close(work)
	for i := range n {
		select {
		case work <- i:
		case err := <-failed:
			return err
		}
	}
	return nil
}

// cpuTime is what the process has used so far, in user and system mode.
func cpuTime() time.Duration {
	var usage syscall.Rusage
	if err := syscall.Getrusage(syscall.RUSAGE_SELF, &usage); err != nil {
		panic(err) // getrusage of the own process cannot fail
	}
	return time.Duration(usage.Utime.Nano() + usage.Stime.Nano())
}
