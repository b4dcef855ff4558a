package local

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core/env"
	"github.com/reveille-run/reveille/functions/kit/settings"
)

// undisturbed measures up to so many times, each time in a fresh place, until a bound is
// kept: the machine may have other things to do meanwhile, but what breaks the bound by
// itself does so each time. Whatever else measure checks fails the test at any time.
func undisturbed(t *testing.T, times int, measure func() (missed error)) {
	t.Helper()
	var missed error
	for range times {
		if missed = measure(); missed == nil {
			return
		}
		t.Log("missed:", missed)
	}
	t.Errorf("missed %d times, the last time: %v", times, missed)
}

// TestATwoStepRunIsFourTransactions: what one transition makes visible is one
// transaction, with two syncs. The submission claims, the turn is committed, then the result together
// with the hand-over, then the last turn together with the end.
func TestATwoStepRunIsFourTransactions(t *testing.T) {
	undisturbed(t, 5, func() (missed error) {
		url, h := serveOpenHost(t, filepath.Join(t.TempDir(), "data.db"))
		began := time.Now()
		for _, tt := range []struct {
			thread string
			want   [2]int64 // transactions and syncs
		}{{"t1", [2]int64{5, 10}}, {"t2", [2]int64{4, 8}}} { // the first run of a process stores its agent, too
			transactions, syncs := h.file.Stats()
			_, body := post(t, url+"/v1/ai-sdk/chat", strings.Replace(chat, "t1", tt.thread, 1))
			if !strings.HasSuffix(body, "data: [DONE]\n\n") {
				t.Fatal(body)
			}
			moreTransactions, moreSyncs := h.file.Stats()
			if got := [2]int64{moreTransactions - transactions, moreSyncs - syncs}; got != tt.want {
				missed = errors.Join(missed, fmt.Errorf("%s: %d, want %d", tt.thread, got, tt.want))
			}
		}
		// A step that takes longer than this stores what its model has said so far: the one excuse.
		if missed != nil && time.Since(began) < 500*time.Millisecond {
			t.Fatal(missed)
		}
		return missed
	})
}

// TestAFileThatAnotherHostHasSaysWhatToDo: both may listen at addresses of their own.
func TestAFileThatAnotherHostHasSaysWhatToDo(t *testing.T) {
	data := filepath.Join(t.TempDir(), "data.db")
	serveHost(t, data)
	_, err := newHost(t.Context(), env.System(), settings.Settings{Data: data}, slog.New(slog.DiscardHandler), demonstration)
	want := "open store " + data + ": another process has the file open (waited 1s for its lock): end that one, or set REVEILLE_DATA to another file"
	if err == nil || err.Error() != want {
		t.Errorf("error %v\nwant  %s", err, want)
	}
}

// filled is a file with one finished run.
func filled(t *testing.T) string {
	t.Helper()
	data := filepath.Join(t.TempDir(), "data.db")
	t.Run("fill", func(t *testing.T) { post(t, serveHost(t, data)+"/v1/ai-sdk/chat", chat) })
	return data
}

func TestADamagedFileEndsTheStartWithOneLine(t *testing.T) {
	tests := []struct {
		name   string
		damage func(file []byte) []byte
	}{
		{"cut short", func(file []byte) []byte { return file[:3*os.Getpagesize()] }},
		{"both meta pages overwritten", func(file []byte) []byte {
			copy(file, make([]byte, 2*os.Getpagesize()))
			copy(file[16:], []byte{0xED, 0xDA, 0x0C, 0xED})
			return file
		}},
		{"every page but the first two overwritten", func(file []byte) []byte {
			for i := 2 * os.Getpagesize(); i < len(file); i++ {
				file[i] = 0xA5
			}
			return file
		}},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			data := filled(t)
			file, err := os.ReadFile(data)
			if err != nil {
				t.Fatal(err)
			}
			if err := os.WriteFile(data, test.damage(file), 0o600); err != nil {
				t.Fatal(err)
			}
			ctx, stop := context.WithTimeout(t.Context(), 5*time.Second) // for a host that starts
			defer stop()
			err = start(ctx, []string{"REVEILLE_ADDR=127.0.0.1:0", "REVEILLE_DATA=" + data}, demonstration)
			if err == nil {
				t.Fatal("the host started")
			}
			line := firstLine(err)
			if !strings.Contains(line, data) || strings.Contains(line, "\n") || strings.Contains(line, "goroutine") {
				t.Errorf("the error is %q, want one line that names %s", line, data)
			}
			if want := "is damaged: restore it from a copy, or move it away to start with an empty file"; !strings.Contains(line, want) {
				t.Errorf("the error is %q, want the remedy %q in it", line, want)
			}
		})
	}
}

// TestAFileThatIsCutEndsTheHost: it can serve nobody any more.
func TestAFileThatIsCutEndsTheHost(t *testing.T) {
	data := filled(t)
	running := serveUntilStopped(t, data)
	if err := os.Truncate(data, 100); err != nil {
		t.Fatal(err)
	}
	want := "the file was cut to 100 bytes while it was open; file " + data + " is damaged: restore it from a copy, or move it away to start with an empty file"
	select {
	case err := <-running.ended:
		if err == nil || err.Error() != want {
			t.Errorf("the host ended with the error %v, want %s", err, want)
		}
	case <-time.After(10 * time.Second):
		t.Fatal("the host goes on")
	}
}

// TestAFileThatIsTakenAwayIsSaid: the host goes on, since it may come back.
func TestAFileThatIsTakenAwayIsSaid(t *testing.T) {
	data, log := filled(t), &bytes.Buffer{}
	s, err := settings.Read([]string{"REVEILLE_DATA=" + data, "REVEILLE_SWEEP_INTERVAL=10m"})
	if err != nil {
		t.Fatal(err)
	}
	h, err := newHost(t.Context(), env.System(), s, slog.New(slog.NewTextHandler(log, nil)), demonstration)
	if err != nil {
		t.Fatal(err)
	}
	defer h.shutDown()
	if err := os.Remove(data); err != nil {
		t.Fatal(err)
	}
	want := data + ": the file was deleted, moved or replaced while it was open; restore it, or restart the program to start with an empty file"
	if err := h.repair(t.Context()); !errors.Is(err, bolt.ErrReplaced) || err.Error() != want {
		t.Errorf("the sweep returns the error %v, want %s", err, want)
	}
}

func TestAnErrorOfManyLinesIsToldByItsFirst(t *testing.T) {
	tests := []struct {
		name string
		err  error
		want string
	}{
		{"one", errors.New("shard 1 is damaged"), "shard 1 is damaged"},
		{"three", errors.Join(errors.New("shard 1"), errors.New("shard 2"), fmt.Errorf("purge: %w", errors.New("x"))), "shard 1 (and 2 more)"},
	}
	got := map[string]string{}
	want := map[string]string{}
	for _, test := range tests {
		got[test.name], want[test.name] = firstLine(test.err), test.want
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
