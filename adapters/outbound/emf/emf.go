package emf

import (
	"cmp"
	"encoding/json"
	"io"
	"strings"
	"sync"
	"time"

	"github.com/reveille-run/reveille/core"
)

// defaultStack is the value of the dimension Stack if none is set.
const defaultStack = "reveille"

// lateAfter is how late a step starts that counts as late.
const lateAfter = time.Minute

// Options describe the function that writes the lines.
type Options struct {
	// Stack is the name of the stack, or its ARN. It keeps the metrics of two deployments in one
	// account and region apart; empty: reveille.
	Stack string
	// Function is the kind of the function: api, stream, step, sweep or trigger.
	Function string
	// Now is the clock; nil: time.Now.
	Now func() time.Time
	// Price returns the cost of a model of a provider; nil: it is unknown.
	Price func(provider, model string, usage core.Usage, at time.Time) (cost core.USD, known bool)
}

// Writer writes the lines of a function. It is safe for concurrent use. A line that cannot be
// written is lost.
type Writer struct {
	o  Options
	mu sync.Mutex
	to io.Writer
}

// New returns a writer of lines into a function's log.
func New(to io.Writer, o Options) *Writer {
	if _, path, ok := strings.Cut(o.Stack, ":stack/"); ok {
		o.Stack, _, _ = strings.Cut(path, "/")
	}
	o.Stack = cmp.Or(o.Stack, defaultStack)
	if o.Now == nil {
		o.Now = time.Now
	}
	return &Writer{o: o, to: to}
}

// line is a line in the embedded metric format: its metrics, their dimensions, and fields
// for queries. CloudWatch reads the metrics that the metadata names.
type line struct {
	AWS      metadata `json:"_aws"`
	Stack    string
	Function string
	Outcome  string `json:",omitempty"`
	Code     string `json:",omitempty"`
	Kind     string `json:",omitempty"`

	Runs        *int   `json:",omitempty"`
	Failed      *int   `json:",omitempty"`
	Expired     *int   `json:",omitempty"`
	DeadLetters *int   `json:",omitempty"`
	ModelErrors *int   `json:",omitempty"`
	LateWakeUps *int   `json:",omitempty"`
	Lateness    *int64 `json:",omitempty"`

	Tenant   string `json:"tenant"`
	Agent    string `json:"agent,omitempty"`
	Thread   string `json:"thread"`
	Run      string `json:"run,omitempty"`
	Provider string `json:"provider,omitempty"`
	Model    string `json:"model,omitempty"`
	Reason   string `json:"reason,omitempty"` // the code or kind itself, of which the dimension may say other
	Steps    int    `json:"steps,omitempty"`
	Millis   int64  `json:"ms,omitempty"`    // from the start of the run to its end
	Woken    *bool  `json:"woken,omitempty"` // of a dead wake-up: its thread had work, and was woken again
}

type metadata struct {
	Timestamp         int64
	CloudWatchMetrics []directive
}

type directive struct {
	Namespace  string
	Dimensions [][]string
	Metrics    []definition
}

type definition struct{ Name, Unit string }

// counts adds a metric to the line under the dimension Stack alone, if total is true, and
// with each of the other dimensions.
func (l *line) counts(total bool, name string, by ...string) {
	var sets [][]string
	if total {
		sets = append(sets, []string{"Stack"})
	}
	for _, d := range by {
		sets = append(sets, []string{"Stack", d})
	}
	unit := ""
	for _, m := range metrics {
		if m.Name == name {
			unit = m.Unit
		}
	}
	l.AWS.CloudWatchMetrics = append(l.AWS.CloudWatchMetrics, directive{namespace, sets, []definition{{name, unit}}})
}

// line begins a line about a run.
func (w *Writer) line(key core.ThreadKey, run core.ID, agent string) *line {
	l := &line{AWS: metadata{Timestamp: w.o.Now().UnixMilli()}, Stack: w.o.Stack, Function: w.o.Function, Tenant: key.Tenant, Agent: agent, Thread: key.Thread}
	if !run.IsZero() {
		l.Run = run.String()
	}
	return l
}

// write writes a line, in one write, so that no other line comes between.
func (w *Writer) write(l any) {
	b, err := json.Marshal(l)
	if err != nil { // it is made of texts and numbers
		return
	}
	w.mu.Lock()
	defer w.mu.Unlock()
	_, _ = w.to.Write(append(b, '\n'))
}

// one is the value of a metric that counts what a line is about.
func one() *int { return new(1) }
