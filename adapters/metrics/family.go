package metrics

import (
	"cmp"
	"io"
	"maps"
	"slices"
	"strconv"
	"strings"
)

// family is a metric: a series for each combination of its labels' values. It has no
// lock of its own.
type family struct {
	name, help string
	kind       string // counter, gauge or histogram
	labels     []string
	bounds     []float64 // of a histogram's buckets, ascending, without the last, which is infinite
	series     map[string]*series
}

// series is what was counted for one combination. A histogram's value is the sum of what
// was observed.
type series struct {
	values  []string // of the labels
	value   float64
	count   uint64   // of observations
	buckets []uint64 // observations in each bucket alone; the infinite one is the rest
}

// maxSeries bounds the combinations of a family: a scrape must stay short, whatever
// clients and models come up with.
const maxSeries = 200

const otherValue = "other"

func newFamily(kind, name, help string, labels ...string) *family {
	return &family{name: name, help: help, kind: kind, labels: labels, series: map[string]*series{}}
}

func newHistogram(name, help string, bounds []float64, labels ...string) *family {
	f := newFamily("histogram", name, help, labels...)
	f.bounds = bounds
	return f
}

// at returns the series of a combination of values, one for each label. One that is
// there costs no memory.
func (f *family) at(values ...string) *series {
	var room [128]byte
	key := keyOf(room[:0], values)
	if s := f.series[string(key)]; s != nil {
		return s
	}
	if len(f.series) >= maxSeries && len(values) > 0 {
		values = slices.Repeat([]string{otherValue}, len(values))
		key = keyOf(key[:0], values)
		if s := f.series[string(key)]; s != nil {
			return s
		}
	}
	s := &series{values: slices.Clone(values), buckets: make([]uint64, len(f.bounds))}
	f.series[string(key)] = s
	return s
}

// keyOf joins values by a byte that is in no UTF-8.
func keyOf(key []byte, values []string) []byte {
	for i, v := range values {
		if i > 0 {
			key = append(key, 0xff)
		}
		key = append(key, v...)
	}
	return key
}

// add counts.
func (f *family) add(n float64, values ...string) { f.at(values...).value += n }

// observe adds a value to a histogram.
func (f *family) observe(value float64, values ...string) {
	s := f.at(values...)
	s.value += value
	s.count++
	if i, _ := slices.BinarySearchFunc(f.bounds, value, cmp.Compare[float64]); i < len(f.bounds) {
		s.buckets[i]++ // the first bucket whose bound is not below the value
	}
}

// write writes the family in the text format 0.0.4, series in the order of their labels.
// A family of no series says nothing.
func (f *family) write(w io.StringWriter) {
	if len(f.series) == 0 {
		return
	}
	write(w, "# HELP ", f.name, " ", strings.NewReplacer(`\`, `\\`, "\n", `\n`).Replace(f.help), "\n# TYPE ", f.name, " ", f.kind, "\n")
	for _, key := range slices.Sorted(maps.Keys(f.series)) {
		s := f.series[key]
		if f.kind != "histogram" {
			write(w, f.name, braces(f.pairs(s)), " ", number(s.value), "\n")
			continue
		}
		sum := uint64(0)
		for i, bound := range f.bounds {
			sum += s.buckets[i]
			write(w, f.name, "_bucket", braces(f.pairs(s), `le="`+number(bound)+`"`), " ", strconv.FormatUint(sum, 10), "\n")
		}
		write(w, f.name, "_bucket", braces(f.pairs(s), `le="+Inf"`), " ", strconv.FormatUint(s.count, 10), "\n")
		write(w, f.name, "_sum", braces(f.pairs(s)), " ", number(s.value), "\n")
		write(w, f.name, "_count", braces(f.pairs(s)), " ", strconv.FormatUint(s.count, 10), "\n")
	}
}

// pairs are a series' labels, as in `tool="echo"`.
func (f *family) pairs(s *series) (pairs []string) {
	escape := strings.NewReplacer(`\`, `\\`, "\n", `\n`, `"`, `\"`)
	for i, label := range f.labels {
		pairs = append(pairs, label+`="`+escape.Replace(strings.ToValidUTF8(s.values[i], "?"))+`"`)
	}
	return pairs
}

func braces(pairs []string, more ...string) string {
	if pairs = append(pairs, more...); len(pairs) == 0 {
		return ""
	}
	return "{" + strings.Join(pairs, ",") + "}"
}

func number(v float64) string { return strconv.FormatFloat(v, 'g', -1, 64) }

// write writes to memory, which cannot fail.
func write(w io.StringWriter, parts ...string) {
	for _, part := range parts {
		_, _ = w.WriteString(part)
	}
}
