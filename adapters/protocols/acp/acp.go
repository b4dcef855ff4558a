package acp

import (
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/protocols/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/core/runtime"
)

// Options configures [Serve].
type Options struct {
	Runtime protocol.Runtime // required
	Env     *env.Env         // required

	// Identity is on whose behalf everything is done: whoever started the process.
	Identity core.Identity
	Agent    string // that sessions talk to; required
	Version  string // of the program, for the client to show; empty: "dev"
	// Kinds are what tools do, for the client's icons, by the tool's name: "read",
	// "edit", "delete", "move", "search", "execute", "think" or "fetch". What is absent
	// is "other".
	Kinds map[string]string
	Log   *slog.Logger // nil: slog.Default()
}

// connection is one client. The library calls handle from many goroutines, one for
// each request; notifications come one by one.
type connection struct {
	Options
	log      *slog.Logger
	ctx      context.Context // of all that the client has asked for
	wire     *sdk.Connection
	out      *outlet
	sessions sessions

	mu       sync.Mutex // guards what follows
	stopping bool       // nothing new is begun
	working  sync.WaitGroup
}

// Serve speaks with one client until it closes its side, or ctx is done; then it
// returns nil. What runs is given back to the queue, and a call that waits for a person
// goes on waiting: nothing is lost. The error is that of reading in.
//
// When ctx ends before in does, a goroutine is left that waits for in; it ends with
// the process, or when in is closed. So it is with a client that does not read, and out.
func Serve(ctx context.Context, in io.Reader, out io.Writer, o Options) error {
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	c := &connection{Options: o, log: o.Log, ctx: runtime.ForHost(work), out: newOutlet(out)}
	if c.log == nil {
		c.log = slog.Default()
	}
	var writing sync.WaitGroup
	writing.Go(c.out.run)
	lines, to := io.Pipe()
	ready := make(chan struct{})
	c.wire = sdk.NewConnection(func(ctx context.Context, method string, params rawJSON) (any, *sdk.RequestError) {
		<-ready // until wire is set
		return c.handle(ctx, method, params)
	}, c.out, lines)
	c.wire.SetLogger(slog.New(quiet{c.log.Handler()}))
	close(ready)
	ended := make(chan error, 1)
	go func() { ended <- c.pump(in, to) }()
	var err error
	select {
	case err = <-ended:
	case <-ctx.Done():
	}
	c.mu.Lock()
	c.stopping = true
	c.mu.Unlock()
	gone := ctx.Err() == nil
	if gone {
		_ = to.Close() // which ends what waits for the client's answer
	}
	stop(runtime.ErrStopping)
	c.working.Wait()
	c.drain(&writing)
	_ = to.Close()
	if !gone || errors.Is(err, io.ErrClosedPipe) {
		err = nil
	}
	return err
}

// lastWords is how long a client may take to read what is left for it.
const lastWords = 2 * time.Second

// drain waits until each request has its response and all is written, or the client
// reads no more.
func (c *connection) drain(writing *sync.WaitGroup) {
	ctx, cancel := context.WithTimeout(context.Background(), lastWords)
	defer cancel()
	err := c.out.settled(ctx)
	c.out.end()
	if err == nil {
		writing.Wait()
	}
}

// enter begins a request; false: the process is about to end.
func (c *connection) enter() bool {
	c.mu.Lock()
	defer c.mu.Unlock()
	if !c.stopping {
		c.working.Add(1)
	}
	return !c.stopping
}

// quiet is the library's log: what it says of each connection is no news, and it quotes
// lines whole.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool { return false }
