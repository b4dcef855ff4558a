package main

import (
	"errors"
	"fmt"
	"io"
	"os"
	"slices"
	"strconv"
	"strings"
)

// executions is the file in which the host's tools note the idempotency key of
// each execution, run/turn/index, before they run. Writes of a killed process
// are not lost: the kernel has them.
type executions struct {
	path string
	at   int64
	rest string                    // a line that is not complete yet
	runs map[string]map[call][]int // lives in which a run's call was executed
}

// call is one call of a run: the sequence of its turn, its index there.
type call struct {
	Turn  uint64
	Index int
}

// read takes what is new in the file as executions of one life.
func (e *executions) read(life int) error {
	file, err := os.Open(e.path)
	if errors.Is(err, os.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open the executions: %w", err)
	}
	defer file.Close()
	if _, err := file.Seek(e.at, io.SeekStart); err != nil {
		return fmt.Errorf("read the executions: %w", err)
	}
	text, err := io.ReadAll(file)
	if err != nil {
		return fmt.Errorf("read the executions: %w", err)
	}
	e.at += int64(len(text))
	lines := strings.Split(e.rest+string(text), "\n")
	e.rest = lines[len(lines)-1]
	for _, line := range lines[:len(lines)-1] {
		if err := e.add(line, life); err != nil {
			return err
		}
	}
	return nil
}

func (e *executions) add(key string, life int) error {
	parts := strings.Split(key, "/")
	if len(parts) != 3 {
		return fmt.Errorf("executions: key %q is not run/turn/index", key)
	}
	turn, err := strconv.ParseUint(parts[1], 10, 64)
	index, err2 := strconv.Atoi(parts[2])
	if err := errors.Join(err, err2); err != nil {
		return fmt.Errorf("executions: key %q: %w", key, err)
	}
	if e.runs == nil {
		e.runs = map[string]map[call][]int{}
	}
	if e.runs[parts[0]] == nil {
		e.runs[parts[0]] = map[call][]int{}
	}
	c := call{turn, index}
	e.runs[parts[0]][c] = append(e.runs[parts[0]][c], life)
	return nil
}

// executed returns the turns of a run whose calls were executed, in the order of
// their sequences, and the lives in which each call was.
func (h *host) executed(run string) (turns []uint64, calls map[call][]int) {
	h.mu.Lock()
	defer h.mu.Unlock()
	calls = map[call][]int{}
	for c, lives := range h.executions.runs[run] {
		calls[c] = slices.Clone(lives)
		if !slices.Contains(turns, c.Turn) {
			turns = append(turns, c.Turn)
		}
	}
	slices.Sort(turns)
	return turns, calls
}
