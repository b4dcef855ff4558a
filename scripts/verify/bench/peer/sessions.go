package main

import (
	"context"
	"fmt"
	"runtime"
	"slices"
	"strconv"
	"time"

	"google.golang.org/adk/v2/session"
	"google.golang.org/genai"
)

// long is the time of a turn in a session of so many messages that the process knows.
func long(ctx context.Context, o options) error {
	s, err := serve(o.file, 1, scripted{})
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	if err := s.fill(ctx, o.messages); err != nil {
		return err
	}
	took := make([]time.Duration, o.runs)
	for i := range took {
		began := time.Now()
		if _, err := s.stream("long", "hello"); err != nil {
			return err
		}
		took[i] = time.Since(began)
	}
	printTimes(took)
	return nil
}

// cold is the first turn in a session of so many messages after its file was opened, without
// the garbage of the processes before.
func cold(ctx context.Context, o options) error {
	s, err := serve(o.file, 1, scripted{})
	if err != nil {
		return err
	}
	if err := s.fill(ctx, o.messages); err != nil {
		return err
	}
	if err := s.close(); err != nil {
		return err
	}
	took := make([]time.Duration, o.runs)
	for i := range took {
		s, err := serve(o.file, 1, scripted{})
		if err != nil {
			return err
		}
		runtime.GC()
		began := time.Now()
		if _, err := s.stream("long", "hello"); err != nil {
			return err
		}
		took[i] = time.Since(began)
		if err := s.close(); err != nil {
			return err
		}
	}
	printTimes(took)
	return nil
}

// fill makes a session of so many messages, half of them the user's. It does not wait for
// the disk.
func (s *served) fill(ctx context.Context, messages int) error {
	if s.file != nil {
		if err := s.file.syncWrites(ctx, false); err != nil {
			return err
		}
	}
	made, err := s.create(ctx, "long")
	if err != nil {
		return err
	}
	for i := range messages {
		event := session.NewEvent(ctx, strconv.Itoa(i/2))
		event.Author, event.Content = user, genai.NewContentFromText("hello", genai.RoleUser)
		if i%2 == 1 {
			event.Author, event.Content = app, genai.NewContentFromText(answer, genai.RoleModel)
		}
		if err := s.sessions.AppendEvent(ctx, made, event); err != nil {
			return err
		}
	}
	if s.file != nil {
		return s.file.syncWrites(ctx, true)
	}
	return nil
}

// resident is what so many sessions of one run each take of the heap after the runs, without
// garbage.
func resident(ctx context.Context, o options) error {
	s, err := serve(o.file, 1, scripted{})
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	if err := each(1, 100, func(i int) error { return s.runOnce(ctx, fmt.Sprint("first", i)) }); err != nil {
		return err
	}
	before := liveHeap()
	if err := each(1, o.runs, func(i int) error { return s.runOnce(ctx, fmt.Sprint("s", i)) }); err != nil {
		return err
	}
	fmt.Printf("%.2f live-MB/1000threads\n", float64(liveHeap()-before)*1000/(1<<20)/float64(o.runs))
	return nil
}

// liveHeap is how many bytes of the heap are referred to.
func liveHeap() int64 {
	runtime.GC()
	runtime.GC() // pools are empty after the second one
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	return int64(memory.HeapAlloc)
}

// streams is the time to the first text of so many streams at a time, over a model that
// begins after 100 ms.
func streams(ctx context.Context, o options) error {
	s, err := serve(o.file, o.clients, scripted{pause: 100 * time.Millisecond})
	if err != nil {
		return err
	}
	defer func() { _ = s.close() }()
	took := make([]time.Duration, o.clients)
	for round := range 3 { // the first one opens the connections
		if err := each(o.clients, o.clients, func(i int) (err error) {
			name := fmt.Sprint(round, "-", i)
			if _, err = s.create(ctx, name); err == nil {
				took[i], err = s.stream(name, "hello")
			}
			return err
		}); err != nil {
			return err
		}
	}
	printTimes(took)
	return nil
}

// printTimes prints the median and the 99th percentile.
func printTimes(took []time.Duration) {
	slices.Sort(took)
	at := func(share float64) float64 {
		return float64(took[int(share*float64(len(took)-1))].Microseconds()) / 1000
	}
	fmt.Printf("%.2f p50-ms %.2f p99-ms\n", at(.5), at(.99))
}
