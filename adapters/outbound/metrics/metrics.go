package metrics

import (
	"context"
	"log/slog"
	"net/http"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/collectors"
	"github.com/prometheus/client_golang/prometheus/promhttp"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
)

// Options are the sources of metrics that are read each time that the metrics are shown. A
// nil one is omitted.
type Options struct {
	// Queue returns the number of wake-ups that are ready, the number that are delayed,
	// and the waiting time of the oldest ready one.
	Queue func() (ready, delayed int, oldest time.Duration)
	// Working returns the number of runs that the process works on.
	Working func() int
	// Followers is how many streams follow a thread that this process does not work on.
	Followers func() int
	// Waiting returns the number of threads that wait for a decision.
	Waiting func(context.Context) (int, error)
	// Abandoned is how many abandoned tools still run.
	Abandoned func() int
	// EffectFailures returns the number of effects that have failed so far.
	EffectFailures func() int64
	Log            *slog.Logger // nil: slog.Default()
}

// Metrics counts and serves. It is safe for concurrent use.
type Metrics struct {
	options  Options
	registry *prometheus.Registry // of all that is counted

	runs     counter
	waits    counter
	errors   counter
	runTime  histogram
	steps    counter
	stepTime histogram

	inferences    counter
	inferenceTime histogram
	retries       counter
	failures      counter
	tokens        counter
	calls         counter
	callTime      histogram

	requests counter
	streams  prometheus.Gauge // that are open
}

var _ host.Observer = (*Metrics)(nil)

// The bounds of histograms, in seconds.
var (
	short = []float64{.001, .005, .01, .05, .1, .25, .5, 1, 2.5, 5, 10, 30}
	long  = []float64{.1, .25, .5, 1, 2.5, 5, 10, 30, 60, 120, 300, 900, 3600}
)

// New returns metrics whose counts are zero.
func New(o Options) *Metrics {
	if o.Log == nil {
		o.Log = slog.Default()
	}
	r := prometheus.NewRegistry()
	m := &Metrics{
		options: o, registry: r,
		runs:    newCounter(r, "reveille_runs_total", "Finished runs, by their end.", "agent", "end"),
		waits:   newCounter(r, "reveille_run_waits_total", "Times that a run started to wait for a decision.", "agent"),
		errors:  newCounter(r, "reveille_run_errors_total", "Runs that ended with an error, by its code.", "code"),
		runTime: newHistogram(r, "reveille_run_duration_seconds", "Time from the first step of a run to its end, including waits.", long, "agent"),

		steps:    newCounter(r, "reveille_steps_total", "Finished steps.", "agent"),
		stepTime: newHistogram(r, "reveille_step_duration_seconds", "Duration of finished steps. If a step waited, only the part after the wait.", long, "agent"),

		inferences:    newCounter(r, "reveille_inferences_total", "Model responses, by stop reason.", "model", "stop"),
		inferenceTime: newHistogram(r, "reveille_inference_duration_seconds", "Duration of inferences, without the pauses between attempts.", long, "model"),
		retries:       newCounter(r, "reveille_inference_retries_total", "Model calls that failed before the response was complete.", "model"),
		failures:      newCounter(r, "reveille_inference_failures_total", "Steps that ended without a response, in runs that continued, by the kind of failure.", "kind"),
		tokens:        newCounter(r, "reveille_tokens_total", "Tokens as providers report them. For most providers, cache_read is part of input, and reasoning is part of output.", "model", "kind"),
		calls:         newCounter(r, "reveille_tool_calls_total", "Tool calls that have a result, by its status.", "tool", "status"),
		callTime:      newHistogram(r, "reveille_tool_call_duration_seconds", "Duration of tool calls that ran a tool.", short, "tool"),

		requests: newCounter(r, "reveille_http_requests_total", "Finished requests, by the status of the response.", "method", "status"),
		streams:  prometheus.NewGauge(prometheus.GaugeOpts{Name: "reveille_streams_open", Help: "Open streams of events."}),
	}
	r.MustRegister(m.streams, collectors.NewGoCollector(), collectors.NewProcessCollector(collectors.ProcessCollectorOpts{}))
	return m
}

// InferenceFailed implements host.Observer.
func (m *Metrics) InferenceFailed(_, kind string) { m.failures.add(1, kind) }

// Inferred implements host.Observer.
func (m *Metrics) Inferred(_ string, turn *core.Message, took time.Duration, retries int) {
	m.inferences.add(1, turn.Model, string(turn.StopReason))
	m.inferenceTime.observe(took.Seconds(), turn.Model)
	if retries > 0 {
		m.retries.add(float64(retries), turn.Model)
	}
	if u := turn.Usage; u != nil {
		for _, t := range []struct {
			kind  string
			count int
		}{{"input", u.Input}, {"output", u.Output}, {"cache_read", u.CacheRead}, {"cache_write", u.CacheWrite}, {"reasoning", u.Reasoning}} {
			if t.count > 0 {
				m.tokens.add(float64(t.count), turn.Model, t.kind)
			}
		}
	}
}

// ToolCalled implements host.Observer.
func (m *Metrics) ToolCalled(_ string, r *core.ToolResult, took time.Duration) {
	m.calls.add(1, r.Name, string(r.Status))
	if r.Status == core.ResultOK || r.Status == core.ResultError {
		m.callTime.observe(took.Seconds(), r.Name)
	}
}

// Stepped implements host.Observer.
func (m *Metrics) Stepped(agent string, took time.Duration) {
	m.steps.add(1, agent)
	m.stepTime.observe(took.Seconds(), agent)
}

// Ended implements host.Observer.
func (m *Metrics) Ended(r core.Run) {
	if r.Status == core.RunWaiting {
		m.waits.add(1, r.AgentID)
		return
	}
	end := core.Termination{}
	if r.Termination != nil {
		end = *r.Termination
	}
	m.runs.add(1, r.AgentID, string(end.Type))
	if end.Type == core.TerminationError {
		m.errors.add(1, end.Code)
	}
	if r.StartedAt > 0 {
		m.runTime.observe(seconds(r.FinishedAt-r.StartedAt), r.AgentID)
	}
}

func seconds(millis int64) float64 { return float64(millis) / 1000 }

// ServeHTTP implements http.Handler: it responds with the metrics in the format that the
// client accepts, by default in Prometheus' text format.
func (m *Metrics) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	promhttp.HandlerFor(prometheus.Gatherers{m.registry, m.asked(r.Context())}, promhttp.HandlerOpts{
		ErrorLog: slog.NewLogLogger(m.options.Log.Handler(), slog.LevelError),
	}).ServeHTTP(w, r)
}

// asked is what the process says of this moment.
func (m *Metrics) asked(ctx context.Context) *prometheus.Registry {
	now, o := prometheus.NewRegistry(), m.options
	gauge := func(name, help string, value float64) {
		now.MustRegister(prometheus.NewGaugeFunc(prometheus.GaugeOpts{Name: name, Help: help}, func() float64 { return value }))
	}
	if o.Queue != nil {
		ready, delayed, oldest := o.Queue()
		gauge("reveille_queue_ready", "Wake-ups that wait for a worker.", float64(ready))
		gauge("reveille_queue_delayed", "Wake-ups that are not due yet.", float64(delayed))
		gauge("reveille_queue_oldest_seconds", "Time that the oldest due wake-up has waited.", oldest.Seconds())
	}
	for _, g := range []struct {
		name, help string
		value      func() int
	}{
		{"reveille_runs_working", "Runs that the process works on.", o.Working},
		{"reveille_followers", "Streams that follow a thread without working on it.", o.Followers},
		{"reveille_tools_abandoned", "Abandoned tools that still run.", o.Abandoned},
	} {
		if g.value != nil {
			gauge(g.name, g.help, float64(g.value()))
		}
	}
	if o.Waiting != nil {
		n, err := o.Waiting(ctx)
		if err != nil { // the rest is worth more than none
			o.Log.Error("counting waiting threads failed", "error", err)
		} else {
			gauge("reveille_threads_waiting", "Threads that wait for a person.", float64(n))
		}
	}
	if o.EffectFailures != nil {
		failures := float64(o.EffectFailures())
		now.MustRegister(prometheus.NewCounterFunc(prometheus.CounterOpts{Name: "reveille_effect_failures_total", Help: "Effects that have failed."}, func() float64 { return failures }))
	}
	return now
}
