package run_test

import (
	"fmt"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/run/history"
	"github.com/reveille-run/reveille/core/internal/thread"
	"github.com/reveille-run/reveille/core/internal/threadlog"
	"github.com/reveille-run/reveille/core/mailbox"
	"github.com/reveille-run/reveille/core/model"
)

func cites(url string, start, end int) model.Delta {
	return model.Delta{Type: model.DeltaAnnotation, Annotation: &core.Annotation{Type: core.AnnotationURL, URL: url, Start: start, End: end}}
}

// Citations are stored with their text, and their event has one place, live and replayed,
// also where a failed call had brought some of them.
func TestCitationsHaveOnePlace(t *testing.T) {
	for _, tt := range []struct {
		name  string
		turns [][]model.Delta
		want  string
	}{
		{"in two calls, of which the first fails", [][]model.Delta{
			{think("hm"), say("It rains"), cites("a", 0, 8)}, {say(" now."), cites("b", 1, 4), stopped},
		}, ".1.1.1-13-h 1 a 0-8 b 9-12"},
		{"in one call", [][]model.Delta{{
			{Type: model.DeltaReasoning, Text: "hm"}, {Type: model.DeltaText, Text: "It rains"}, cites("a", 0, 8), {Type: model.DeltaText, Text: " now."}, cites("b", 3, 12),
			{Type: model.DeltaToolStart, Name: "echo"}, cites("c", 0, 0), {Type: model.DeltaToolArgument, Text: `{"text":"x"}`}, {Type: model.DeltaStop, Stop: core.StopToolUse},
		}, text("ok")}, ".1.1.1-13-h 1 c 0-0 a 0-8 b 3-12"},
	} {
		synctest.Test(t, func(t *testing.T) {
			says := &cutting{calls: tt.turns, failure: &model.Error{Kind: model.KindInterrupted, Message: "no"}}
			w := newWorld(t, options{model: says})
			says.world = w
			receipt := w.submit(t, key, "hi", mailbox.ModeQueue)
			var live, replayed []string
			note := func(to *[]string) history.Sink {
				return func(e core.Event) error {
					if e.Type == core.EventTextAnnotations {
						line := fmt.Sprintf("%s %d", e.Position[strings.Index(e.Position, "."):], e.Block)
						for _, a := range e.Annotations {
							line += fmt.Sprintf(" %s %d-%d", a.URL, a.Start, a.End)
						}
						*to = append(*to, line)
					}
					return nil
				}
			}
			w.finish(t, key, note(&live))
			entries, err := threadlog.Read(t.Context(), w.store, thread.Records{}, key, 1, w.head(t, key).Seq)
			if err != nil {
				t.Fatal(err)
			}
			replayer := history.NewReplayer(w.runRecord(t, receipt.RunID).Run, note(&replayed))
			for _, e := range entries {
				if err := replayer.Add(e); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{tt.want}
			if diff := cmp.Diff(want, live); diff != "" {
				t.Errorf("%s: live (-want +got):\n%s", tt.name, diff)
			}
			if diff := cmp.Diff(want, replayed); diff != "" {
				t.Errorf("%s: replayed (-want +got):\n%s", tt.name, diff)
			}
		})
	}
}
