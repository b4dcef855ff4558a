package metrics

import (
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries bounds the combinations of a metric's labels: a scrape must stay short,
// although clients and models choose labels.
const maxSeries = 200

const otherValue = "other"

// bound is which combinations of a metric's labels have been counted.
type bound struct {
	mu   sync.Mutex
	seen map[string]bool // by the values, joined
}

// of returns the values under which a combination is counted: themselves, as Prometheus
// takes them, or "other" for each where there are too many combinations.
func (b *bound) of(values []string) []string {
	for i, v := range values {
		values[i] = strings.ToValidUTF8(v, "?")
	}
	key := strings.Join(values, "\xff") // which is in no UTF-8
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.seen[key] {
		return values
	}
	if len(b.seen) < maxSeries {
		b.seen[key] = true
		return values
	}
	for i := range values {
		values[i] = otherValue
	}
	return values
}

// counter is a counter for each combination of its labels' values.
type counter struct {
	vector *prometheus.CounterVec
	bound  *bound
}

func newCounter(r *prometheus.Registry, name, help string, labels ...string) counter {
	c := counter{prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels), &bound{seen: map[string]bool{}}}
	r.MustRegister(c.vector)
	return c
}

// add counts n, with a value for each label.
func (c counter) add(n float64, values ...string) {
	c.vector.WithLabelValues(c.bound.of(values)...).Add(n)
}

// histogram is a histogram of seconds for each combination of its labels' values.
type histogram struct {
	vector *prometheus.HistogramVec
	bound  *bound
}

func newHistogram(r *prometheus.Registry, name, help string, bounds []float64, labels ...string) histogram {
	h := histogram{prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels), &bound{seen: map[string]bool{}}}
	r.MustRegister(h.vector)
	return h
}

// observe adds a time, with a value for each label.
func (h histogram) observe(seconds float64, values ...string) {
	h.vector.WithLabelValues(h.bound.of(values)...).Observe(seconds)
}
