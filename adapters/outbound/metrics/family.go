package metrics

import (
	"slices"
	"strings"
	"sync"

	"github.com/prometheus/client_golang/prometheus"
)

// maxSeries bounds the combinations of a metric's labels: a scrape must stay short,
// although clients and models choose labels.
const maxSeries = 200

const otherValue = "other"

// series are what a metric counts, one for each combination of its labels' values.
type series[M any] struct {
	with func(values ...string) M // Prometheus', which makes the combination if there is none

	mu   sync.Mutex
	made map[string]M // by the values, joined
}

// of returns what counts a combination: its own, with values as Prometheus takes them, or
// the one whose every value is "other" where there are too many combinations.
func (s *series[M]) of(values []string) M {
	var room [128]byte
	key := room[:0]
	for i, v := range values {
		values[i] = strings.ToValidUTF8(v, "?")
		key = append(append(key, values[i]...), 0xff) // which is in no UTF-8
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if m, ok := s.made[string(key)]; ok {
		return m
	}
	if len(s.made) >= maxSeries {
		return s.with(slices.Repeat([]string{otherValue}, len(values))...)
	}
	m := s.with(slices.Clone(values)...) // a copy: the caller's need not leave its stack
	s.made[string(key)] = m
	return m
}

// counter is a counter for each combination of its labels' values.
type counter struct{ series *series[prometheus.Counter] }

func newCounter(r *prometheus.Registry, name, help string, labels ...string) counter {
	vector := prometheus.NewCounterVec(prometheus.CounterOpts{Name: name, Help: help}, labels)
	r.MustRegister(vector)
	return counter{&series[prometheus.Counter]{with: vector.WithLabelValues, made: map[string]prometheus.Counter{}}}
}

// add counts n, with a value for each label.
func (c counter) add(n float64, values ...string) { c.series.of(values).Add(n) }

// histogram is a histogram of seconds for each combination of its labels' values.
type histogram struct{ series *series[prometheus.Observer] }

func newHistogram(r *prometheus.Registry, name, help string, bounds []float64, labels ...string) histogram {
	vector := prometheus.NewHistogramVec(prometheus.HistogramOpts{Name: name, Help: help, Buckets: bounds}, labels)
	r.MustRegister(vector)
	return histogram{&series[prometheus.Observer]{with: vector.WithLabelValues, made: map[string]prometheus.Observer{}}}
}

// observe adds a time, with a value for each label.
func (h histogram) observe(seconds float64, values ...string) { h.series.of(values).Observe(seconds) }
