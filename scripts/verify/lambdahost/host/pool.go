package host

import (
	"context"
	"sync"
)

// pool holds the sandboxes of one function.
type pool struct {
	host     *Host
	function Function
	places   chan struct{} // holds one token per invocation under way
	mu       sync.Mutex
	idle     []*sandbox            // the last one was used last
	all      map[*sandbox]struct{} // that have not exited
	closed   bool
}

func newPool(h *Host, f Function) *pool {
	return &pool{host: h, function: f, places: make(chan struct{}, f.Concurrency), all: map[*sandbox]struct{}{}}
}

// deliver gives the invocation to a sandbox, an idle one if there is one.
func (p *pool) deliver(ctx context.Context, inv *invocation) error {
	select {
	case p.places <- struct{}{}:
	case <-ctx.Done():
		return ctx.Err()
	}
	if !p.host.track(func() { p.serve(inv) }) {
		<-p.places
		return ErrClosed
	}
	return nil
}

// serve returns when the invocation is over.
func (p *pool) serve(inv *invocation) {
	defer close(inv.over)
	defer func() { <-p.places }()
	for {
		s, err := p.take()
		if err != nil {
			inv.fail(err)
			return
		}
		select {
		case s.next <- inv:
			<-inv.left
			p.putBack(s)
			return
		case <-s.exited: // killed while it was idle
		}
	}
}

// take returns an idle sandbox or a new one that is ready.
func (p *pool) take() (*sandbox, error) {
	p.mu.Lock()
	if n := len(p.idle); n > 0 {
		s := p.idle[n-1]
		p.idle = p.idle[:n-1]
		p.mu.Unlock()
		return s, nil
	}
	p.mu.Unlock()
	s := newSandbox(p.function, p.host)
	if err := s.start(p.add, p.remove); err != nil {
		return nil, err
	}
	return s, nil
}

func (p *pool) putBack(s *sandbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if _, alive := p.all[s]; alive {
		p.idle = append(p.idle, s)
	}
}

// add returns false when the sandbox came too late and must go.
func (p *pool) add(s *sandbox) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	if !p.closed {
		p.all[s] = struct{}{}
	}
	return !p.closed
}

func (p *pool) remove(s *sandbox) {
	p.mu.Lock()
	defer p.mu.Unlock()
	delete(p.all, s)
	for i, other := range p.idle {
		if other == s {
			p.idle = append(p.idle[:i], p.idle[i+1:]...)
			break
		}
	}
}

// recycle ends the idle sandboxes and returns when they are gone.
func (p *pool) recycle() {
	p.mu.Lock()
	idle := p.idle
	p.idle = nil
	p.mu.Unlock()
	for _, s := range idle {
		s.kill(&FunctionError{Type: "Sandbox.Recycled", Message: "the sandbox was idle"})
		<-s.exited
	}
}

func (p *pool) killAll() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.closed = true
	for s := range p.all {
		s.kill(&FunctionError{Type: "Host.Closed", Message: ErrClosed.Error()})
	}
}
