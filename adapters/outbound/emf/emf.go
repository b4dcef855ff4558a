package emf

import (
	"encoding/json"
	"io"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/account"
)

// namespace is that of the metrics.
const namespace = "Reveille"

// Values of the dimension Model of a stretch that called no model, or more than one.
const (
	modelNone    = "none"
	modelSeveral = "several"
)

// writer writes lines.
type writer struct {
	mu sync.Mutex
	to io.Writer
}

// New returns a function that writes the line of a stretch into a function's log: a value
// of host.Metering.Ended, safe for concurrent use. If a line cannot be written, it is
// lost.
//
// The namespace of the metrics is Reveille. The dimension Model has the value
// none for a stretch that called no model, and several for one that called more than one.
func New(to io.Writer) func(tenant string, r account.Record) { return (&writer{to: to}).ended }

// line is one line: dimensions, metrics, and the description that distinguishes them.
type line struct {
	AWS     metadata `json:"_aws"`
	Agent   string   `json:"Agent"`
	Model   string   `json:"Model"`
	Outcome string   `json:"Outcome"` // "waiting", or the type of the termination

	InputTokens  int   `json:"InputTokens"`  // The input tokens of the model calls.
	OutputTokens int   `json:"OutputTokens"` // The output tokens of the model calls.
	Inferences   int   `json:"Inferences"`   // The model calls.
	Runs         int   `json:"Runs"`         // 1 if the run is over, else 0.
	Errors       int   `json:"Errors"`       // 1 if the run ended with an error, else 0.
	Duration     int64 `json:"Duration"`     // The time from the start of the run, or from its last wait, to its end or next wait.
}

type metadata struct {
	Timestamp         int64       `json:"Timestamp"`
	CloudWatchMetrics []directive `json:"CloudWatchMetrics"`
}

type directive struct {
	Namespace  string     `json:"Namespace"`
	Dimensions [][]string `json:"Dimensions"`
	Metrics    []metric   `json:"Metrics"`
}

type metric struct {
	Name string `json:"Name"`
	Unit string `json:"Unit"`
}

// directives are the same in every line.
var directives = []directive{{
	Namespace:  namespace,
	Dimensions: [][]string{{"Agent"}, {"Agent", "Model", "Outcome"}},
	Metrics: []metric{
		{"InputTokens", "Count"}, {"OutputTokens", "Count"}, {"Inferences", "Count"}, {"Runs", "Count"}, {"Errors", "Count"}, {"Duration", "Milliseconds"},
	},
}}

// ended writes the line of a stretch. The tenant stays out of it.
func (w *writer) ended(_ string, r account.Record) {
	l := line{
		AWS: metadata{Timestamp: r.Until, CloudWatchMetrics: directives}, Agent: named(r.Agent), Model: modelNone, Outcome: r.End,
		Duration: max(r.Until-r.Since, 0),
	}
	for i, m := range r.Models {
		l.InputTokens, l.OutputTokens, l.Inferences = l.InputTokens+m.Usage.Input, l.OutputTokens+m.Usage.Output, l.Inferences+m.Inferences
		if l.Model = named(m.Model); i > 0 {
			l.Model = modelSeveral
		}
	}
	if !r.Waits() {
		l.Runs = 1
	}
	if r.End == string(core.TerminationError) {
		l.Errors = 1
	}
	b, err := json.Marshal(&l)
	if err != nil { // it is made of texts and numbers
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(append(b, '\n')) // in one write, so that no other line comes between
}

// longest is how long the value of a dimension may be; an empty one is not allowed.
const longest = 250

func named(name string) string {
	if name == "" {
		return "unknown"
	}
	return name[:min(len(name), longest)]
}
