package main

import (
	"context"
	"math/rand/v2"
	"net/http"
)

// tryStream sends an input to an endpoint that streams: its first frame is the receipt.
// The rest is read concurrently, to the end or until the connection is lost.
func (s *session) tryStream(ctx context.Context, in *input) (done bool) {
	st, err := s.open(ctx, s.request(in))
	switch {
	case err != nil:
		return false
	case st.frames == nil && st.passing():
		return false
	case st.frames == nil:
		return s.refused(in, st.reply)
	}
	chat := in.Door == doorChat
	got := &shown{Chat: chat}
	first, err := readFrame(st.frames)
	if err != nil || !s.take(got, first) {
		st.close()
		return false
	}
	if got.Run == "" {
		s.fault(kindStream, "the first frame of %s names no run: %s", in.Key, first.Data)
		st.close()
		return true
	}
	s.note("%s %s %s %q: stream of run %s", in.Door, in.Mode, in.Key, in.Messages[len(in.Messages)-1].Text, got.Run)
	s.receipt(in, got.Run, "")
	s.tally.accepted(in)
	s.ledger.follow(got)
	own := s.fork()
	s.wait.Go(func() {
		s.read(st, got, own)
		if !chat {
			s.resume(ctx, got, own)
		}
	})
	return true
}

// fork makes a source of randomness for a reader.
func (s *session) fork() *rand.Rand { return rand.New(rand.NewPCG(s.r.Uint64(), 1)) }

// take adds a frame to the received ones; false if the stream is over.
func (s *session) take(got *shown, f frame) bool {
	accept := got.event
	if got.Chat {
		accept = got.chunk
	}
	if err := accept(f, s.host.current()); err != nil {
		s.fault(kindStream, "run %s: %v", got.Run, err)
		return false
	}
	return true
}

// read reads a stream to its end, or leaves it after some frames.
func (s *session) read(st *stream, got *shown, r *rand.Rand) {
	defer st.close()
	s.tally.streams.Add(1)
	leave := -1
	if got.Cuts < 3 && r.IntN(3) == 0 {
		leave = r.IntN(8)
	}
	for n := 0; n != leave; n++ {
		f, err := readFrame(st.frames)
		if err != nil || !s.take(got, f) {
			break
		}
	}
	if !got.Ended {
		got.Cuts++
	}
}

// resume reads the rest of a run's stream, connection after connection.
func (s *session) resume(ctx context.Context, got *shown, r *rand.Rand) {
	for ctx.Err() == nil && !got.Ended {
		st, err := s.open(ctx, request{method: http.MethodGet, path: "/v1/runs/" + got.Run + "/events/stream", last: got.Last})
		switch {
		case err != nil || st.frames == nil && st.passing():
			_ = pause(ctx, retryPause) // the loop looks at the context
		case st.status == http.StatusNoContent && got.How == "suspended": // and waits still
			_ = pause(ctx, milliseconds(r, 100, 400)) // the loop looks at the context
		case st.frames == nil:
			s.fault(kindStream, "run %s is to go on after %q and gets %s", got.Run, got.Last, st.reply)
			return
		default:
			if got.Last != "" {
				s.tally.resumed.Add(1)
			}
			s.read(st, got, r)
			_ = pause(ctx, milliseconds(r, 1, 100)) // the loop looks at the context
		}
	}
}

// watch reads a run's stream from its start, concurrently with all other work.
func (s *session) watch(ctx context.Context, run string) {
	got := s.ledger.follow(&shown{Run: run})
	own := s.fork()
	s.wait.Go(func() { s.resume(ctx, got, own) })
}

// resumeChat does what a chat's page does when it is opened: it asks for the
// running response, again when its connection is lost.
func (s *session) resumeChat(ctx context.Context) {
	own := s.fork()
	s.wait.Go(func() {
		for range 10 {
			st, err := s.open(ctx, request{method: http.MethodGet, path: "/v1/ai-sdk/chat/" + s.Thread + "/stream"})
			switch {
			case ctx.Err() != nil:
				return
			case err != nil || st.frames == nil && st.passing():
			case st.status == http.StatusNoContent:
				return
			case st.frames == nil:
				s.fault(kindStream, "the chat's stream gets %s", st.reply)
				return
			default:
				s.tally.resumed.Add(1)
				got := s.ledger.follow(&shown{Chat: true})
				if s.read(st, got, own); got.Ended {
					return
				}
			}
			_ = pause(ctx, retryPause) // the loop looks at the context
		}
	})
}
