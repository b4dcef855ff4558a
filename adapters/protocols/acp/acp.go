package acp

import (
	"cmp"
	"context"
	"errors"
	"io"
	"log/slog"
	"sync"
	"time"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// Options configures [Serve]. Every field may be zero.
type Options struct {
	// Identity is the caller of every request: the user who started the process. An empty
	// tenant is "local".
	Identity core.Identity
	Agent    string // of all sessions; empty: the default agent of the host
	Version  string // of the program, for the client to show; empty: "dev"
	// Kinds are the kinds of tools, for the client's icons, by the tool's name: "read",
	// "edit", "delete", "move", "search", "execute", "think" or "fetch". An absent tool is
	// "other".
	Kinds map[string]string
	Log   *slog.Logger // nil: slog.Default()
}

// complete returns the options with their defaults.
func (o *Options) complete(h protocol.Host) (Options, error) {
	var c Options
	if o != nil {
		c = *o
	}
	c.Identity.Tenant = cmp.Or(c.Identity.Tenant, host.LocalTenant)
	c.Agent, c.Version = cmp.Or(c.Agent, h.DefaultAgent()), cmp.Or(c.Version, "dev")
	if c.Agent == "" {
		return c, core.Errorf(core.CodeInvalid, "acp: the host has no default agent, and Options.Agent names none")
	}
	if c.Log == nil {
		c.Log = slog.Default()
	}
	return c, nil
}

// connection is one client. The library calls handle from many goroutines, one for
// each request; notifications come one by one.
type connection struct {
	Options  // complete
	Host     protocol.Host
	log      *slog.Logger
	ctx      context.Context // of all that the client has asked for
	wire     *sdk.Connection
	out      *outlet
	sessions sessions

	mu       sync.Mutex // guards what follows
	stopping bool       // nothing new is started
	working  sync.WaitGroup
}

// Serve speaks with one client about a host until it closes its side, or ctx is done; then it
// returns nil. Open runs are released to the queue, and calls that wait for a person
// continue to wait: nothing is lost. The error is that of reading in, or the lack of an
// agent. A message of the client may have 1 MiB. Nil options are the zero ones.
//
// If ctx ends before in does, a goroutine continues to wait for in; it ends with the
// process, or when in is closed. The same applies to out and a client that does not read.
func Serve(ctx context.Context, in io.Reader, out io.Writer, h protocol.Host, o *Options) error {
	complete, err := o.complete(h)
	if err != nil {
		return err
	}
	work, stop := context.WithCancelCause(context.WithoutCancel(ctx))
	defer stop(nil)
	c := &connection{Options: complete, Host: h, log: complete.Log, ctx: host.ForHost(work), out: newOutlet(out)}
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
	stop(host.ErrStopping)
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

// quiet is the library's log: its lines about each connection are not useful, and it
// quotes messages whole.
type quiet struct{ slog.Handler }

// Enabled implements slog.Handler.
func (q quiet) Enabled(ctx context.Context, level slog.Level) bool { return false }
