package acp

import (
	"sync"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// sessions are those that the client has opened on this connection. A session is a
// thread: its id is the thread's, and all that lasts is in the thread.
type sessions struct {
	mu  sync.Mutex
	all map[string]*session
}

// session is what a connection knows of a thread.
type session struct {
	opened    bool
	announced int        // prompts that were read and not yet started
	cancelled bool       // the announced prompt was cancelled before it began
	prompt    *prompting // nil: none is under way
}

// prompting is a prompt under way.
type prompting struct {
	stop sync.Once
	over chan struct{} // closed when the client has cancelled it

	know  sync.Once
	known chan struct{} // closed when run is set
	run   core.ID
}

func newPrompting() *prompting {
	return &prompting{over: make(chan struct{}), known: make(chan struct{})}
}

func (p *prompting) cancel() { p.stop.Do(func() { close(p.over) }) }

func (p *prompting) cancelled() bool {
	select {
	case <-p.over:
		return true
	default:
		return false
	}
}

// is notes which run answers the prompt.
func (p *prompting) is(run core.ID) {
	if !run.IsZero() {
		p.know.Do(func() { p.run = run; close(p.known) })
	}
}

// get returns the session of an id, known or not. The lock is held.
func (s *sessions) get(id string) *session {
	if s.all == nil {
		s.all = map[string]*session{}
	}
	if s.all[id] == nil {
		s.all[id] = &session{}
	}
	return s.all[id]
}

// open makes a session that prompts may name.
func (s *sessions) open(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.get(id).opened = true
}

func (s *sessions) isOpen(id string) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.all[id] != nil && s.all[id].opened
}

// announce notes a prompt that is about to begin.
func (s *sessions) announce(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if known := s.all[id]; known != nil { // what is unknown is refused anyway
		known.announced++
	}
}

// begin starts a prompt. A session has one at a time.
func (s *sessions) begin(id string) (*prompting, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.all[id]
	if known == nil || !known.opened {
		return nil, unknownSession(id)
	}
	known.announced = max(known.announced-1, 0)
	if known.prompt != nil {
		return nil, &sdk.RequestError{Code: protocol.RPCInvalidRequest, Message: "the session has a prompt under way, cancel it or wait for its end"}
	}
	known.prompt = newPrompting()
	if known.cancelled {
		known.cancelled = false
		known.prompt.cancel()
	}
	return known.prompt, nil
}

func (s *sessions) finish(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.all[id].prompt = nil
}

// cancel ends the prompt that a session has or is about to start; without one it does
// nothing, since the prompt may just have ended.
func (s *sessions) cancel(id string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	known := s.all[id]
	switch {
	case known == nil:
	case known.prompt != nil:
		known.prompt.cancel()
	case known.announced > 0:
		known.cancelled = true
	}
}

// end cancels what a session does, and forgets it. The thread stays.
func (s *sessions) end(id string) {
	s.cancel(id)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.all[id] != nil {
		s.all[id].opened = false
	}
}

func unknownSession(id string) error {
	return &sdk.RequestError{
		Code: codeNotFound, Message: "session " + core.Excerpt(id) + " not found: session/new makes one, session/load opens an earlier one",
	}
}
