package protocoltest

import (
	"errors"
	"fmt"
	"net"
	"sync/atomic"
	"syscall"
	"testing"
	"time"
)

// Narrow is a listener whose connections buffer next to nothing, so that a client
// that does not read is noticed soon. It sees whether a write waits for one.
type Narrow struct {
	net.Listener
	writing atomic.Int64 // unix nanoseconds when the write under way started; 0: there is no write
}

// Accept implements net.Listener.
func (n *Narrow) Accept() (net.Conn, error) {
	c, err := n.Listener.Accept()
	if err != nil {
		return nil, err
	}
	return watched{c, n}, c.(*net.TCPConn).SetWriteBuffer(1)
}

type watched struct {
	net.Conn
	by *Narrow
}

func (w watched) Write(b []byte) (int, error) {
	w.by.writing.Store(time.Now().UnixNano())
	defer w.by.writing.Store(0)
	return w.Conn.Write(b)
}

// Stuck returns when a write has waited for its reader for a second. It fails the
// test after 30 s.
func (n *Narrow) Stuck(tb testing.TB) {
	tb.Helper()
	for range 3000 {
		if began := n.writing.Load(); began != 0 && time.Since(time.Unix(0, began)) > time.Second {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	tb.Fatal("no write waits for its reader after 30 s")
}

// Deaf posts a JSON body to a path and reads nothing of the response, until the
// test ends.
func (n *Narrow) Deaf(tb testing.TB, path, body string) {
	tb.Helper()
	address := n.Listener.Addr()
	dialer := net.Dialer{Control: func(_, _ string, c syscall.RawConn) error {
		var failed error
		err := c.Control(func(fd uintptr) { failed = syscall.SetsockoptInt(int(fd), syscall.SOL_SOCKET, syscall.SO_RCVBUF, 1) })
		return errors.Join(err, failed)
	}}
	c, err := dialer.DialContext(tb.Context(), "tcp", address.String())
	if err != nil {
		tb.Fatal(err)
	}
	tb.Cleanup(func() { _ = c.Close() })
	_, err = fmt.Fprintf(c, "POST %s HTTP/1.1\r\nHost: %s\r\nContent-Type: application/json\r\nContent-Length: %d\r\n\r\n%s", path, address, len(body), body)
	if err != nil {
		tb.Fatal(err)
	}
}
