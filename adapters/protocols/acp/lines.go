package acp

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"strings"

	sdk "github.com/coder/acp-go-sdk"

	"github.com/reveille-run/reveille/adapters/internal/protocol"
	"github.com/reveille-run/reveille/core"
)

// maxLine bounds a message of the client, in bytes.
const maxLine = 1 << 20

// envelope has the fields of a message around its content.
type envelope struct {
	ID     json.RawMessage `json:"id"`
	Method string          `json:"method"`
	Params json.RawMessage `json:"params"`
}

// pump passes the client's messages on, line by line, in their order, until they end. It
// answers malformed messages itself and does not pass them on.
func (c *connection) pump(in io.Reader, to io.Writer) error {
	r := bufio.NewReaderSize(in, 64<<10)
	for {
		line, long, err := readLine(r)
		if problem := c.look(line, long); problem != nil {
			c.refuseLine(problem)
		} else if len(line) > 0 {
			if _, err := to.Write(append(line, '\n')); err != nil {
				return err
			}
		}
		if errors.Is(err, io.EOF) {
			return nil
		}
		if err != nil {
			return fmt.Errorf("read from the client: %w", err)
		}
	}
}

// readLine reads a line without its end and the blanks around it; of one that is too
// long nothing is kept.
func readLine(r *bufio.Reader) (line []byte, long bool, err error) {
	for {
		part, err := r.ReadSlice('\n')
		if !long {
			line = append(line, part...)
		}
		if len(bytes.TrimSpace(line)) > maxLine {
			line, long = nil, true
		}
		if errors.Is(err, bufio.ErrBufferFull) {
			continue
		}
		return bytes.TrimSpace(line), long, err
	}
}

// look returns the error of a malformed line; nil: it is a message, or blank. A prompt is
// recorded before it is passed on: each request is handled separately, and a cancel after
// its prompt must not be handled first.
func (c *connection) look(line []byte, long bool) *sdk.RequestError {
	switch {
	case long:
		return &sdk.RequestError{Code: protocol.RPCInvalidRequest, Message: fmt.Sprintf("the message is longer than %d bytes", maxLine)}
	case len(line) == 0:
		return nil
	case !json.Valid(line):
		return &sdk.RequestError{Code: protocol.RPCParse, Message: "the line is not JSON"}
	case line[0] == '[':
		return &sdk.RequestError{Code: protocol.RPCInvalidRequest, Message: "batches are not part of this protocol"}
	}
	var e envelope
	if json.Unmarshal(line, &e) != nil || e.Method == "" && len(e.ID) == 0 {
		return &sdk.RequestError{Code: protocol.RPCInvalidRequest, Message: "a message needs a method, or the id of a request that it answers"}
	}
	request := len(e.ID) > 0 && string(e.ID) != "null"
	switch {
	case e.Method == "": // a response
	case request:
		c.out.owe()
		c.announce(e)
	case e.Method != sdk.AgentMethodSessionCancel && !strings.HasPrefix(e.Method, "$/") && !strings.HasPrefix(e.Method, "_"):
		return &sdk.RequestError{Code: protocol.RPCInvalidRequest, Message: "method " + core.Excerpt(e.Method) + " needs an id, so that it can be answered"}
	}
	return nil
}

// announce notes a prompt before it is handed on.
func (c *connection) announce(e envelope) {
	var p struct {
		Session string `json:"sessionId"`
	}
	if e.Method == sdk.AgentMethodSessionPrompt && json.Unmarshal(e.Params, &p) == nil {
		c.sessions.announce(p.Session)
	}
}

// refuseLine answers what has no id that could be read.
func (c *connection) refuseLine(problem *sdk.RequestError) {
	c.log.Warn("malformed message from the client", "error", problem.Message)
	line, err := json.Marshal(struct {
		Version string            `json:"jsonrpc"`
		ID      any               `json:"id"`
		Error   *sdk.RequestError `json:"error"`
	}{"2.0", nil, problem})
	if err == nil {
		_, _ = c.out.Write(append(line, '\n')) // a client that is gone needs nothing
	}
}
