package restore

import (
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

// state is what a restore must know when it continues.
type state struct {
	Stack     string          `json:"stack"`
	To        time.Time       `json:"to"`
	Tables    []copied        `json:"tables"`              // of threads, of configuration
	Stopped   time.Time       `json:"stopped,omitzero"`    // when every function was stopped; zero: not yet
	Longest   time.Duration   `json:"longest,omitempty"`   // timeout of the functions, in nanoseconds
	Found     bool            `json:"found,omitempty"`     // the next three are known
	Reserved  map[string]*int `json:"reserved,omitempty"`  // by name of a function; null: none
	Mappings  []string        `json:"mappings,omitempty"`  // ids of those that were on
	Schedules []string        `json:"schedules,omitempty"` // names of those that were on
}

// copied is a table and its restored copy.
type copied struct {
	Source string `json:"source"`
	Target string `json:"target"`
}

// load reads the state of an unfinished restore, or begins one. An unfinished one to another
// moment is an error.
func (r *Restore) load() error {
	text, err := os.ReadFile(r.File)
	if errors.Is(err, os.ErrNotExist) {
		return r.begin()
	}
	if err != nil {
		return err
	}
	if err := json.Unmarshal(text, &r.state); err != nil {
		return fmt.Errorf("%s: %w: delete the file to start again; functions that are stopped then stay so until the end", r.File, err)
	}
	if r.state.Stack != r.Stack || !r.state.To.Equal(r.To) || len(r.state.Tables) != 2 {
		return fmt.Errorf("%s: a restore of the stack %s to %s is unfinished: run it again with TO=%[3]s to continue, or delete the file to start another one", r.File, r.state.Stack, moment(r.state.To))
	}
	return nil
}

func (r *Restore) begin() error {
	r.state = state{Stack: r.Stack, To: r.To}
	for _, source := range []string{r.Threads, r.Config} {
		to, err := target(source, r.To)
		if err != nil {
			return err
		}
		if to == source {
			return fmt.Errorf("the stack %s already uses table %s, which was restored to this moment: choose another second, or set ThreadsTable and ConfigTable to the tables before it, deploy, and run this again", r.Stack, source)
		}
		r.state.Tables = append(r.state.Tables, copied{source, to})
	}
	return nil
}

// save writes the state, all of it or nothing.
func (r *Restore) save() error {
	text, err := json.MarshalIndent(r.state, "", "  ")
	if err != nil {
		return err
	}
	if err := os.MkdirAll(filepath.Dir(r.File), 0o700); err != nil {
		return err
	}
	if err := os.WriteFile(r.File+".new", append(text, '\n'), 0o600); err != nil {
		return err
	}
	return os.Rename(r.File+".new", r.File)
}

// forget removes the file of a finished restore.
func (r *Restore) forget() error {
	if err := os.Remove(r.File); err != nil && !errors.Is(err, os.ErrNotExist) {
		return err
	}
	return nil
}
