package alarms

import (
	"bytes"
	"encoding/json"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"
)

// Sample is a value of a metric.
type Sample struct {
	Namespace, Name string
	Dimensions      map[string]string
	At              time.Time
	Value           float64
}

// Line is a line of a log that is JSON.
type Line struct {
	Group  string // the log group
	At     time.Time
	Text   string
	Fields map[string]any
}

// Lines returns the lines of a log that are JSON objects, in their order. The time of a line is
// that of its field _aws or time; at is that of all others.
func Lines(group string, at time.Time, log []byte) (lines []Line) {
	for text := range bytes.Lines(log) {
		l := Line{Group: group, At: at, Text: strings.TrimSpace(string(text))}
		decoder := json.NewDecoder(bytes.NewReader(text))
		decoder.UseNumber()
		if decoder.Decode(&l.Fields) != nil || l.Fields == nil {
			continue
		}
		if written, ok := l.Fields["time"].(string); ok {
			if parsed, err := time.Parse(time.RFC3339Nano, written); err == nil {
				l.At = parsed
			}
		}
		if meta, ok := l.Fields["_aws"].(map[string]any); ok {
			if n, ok := meta["Timestamp"].(json.Number); ok {
				if millis, err := n.Int64(); err == nil {
					l.At = time.UnixMilli(millis)
				}
			}
		}
		lines = append(lines, l)
	}
	return lines
}

// Samples returns the samples of the lines in the embedded metric format. A line that
// CloudWatch would refuse is an error: one without the value of a metric or a dimension
// that it names.
func Samples(lines []Line) (samples []Sample, err error) {
	for _, l := range lines {
		if _, ok := l.Fields["_aws"]; !ok {
			continue
		}
		var format struct {
			AWS struct {
				CloudWatchMetrics []struct {
					Namespace  string
					Dimensions [][]string
					Metrics    []struct{ Name, Unit string }
				}
			} `json:"_aws"`
		}
		if err := json.Unmarshal([]byte(l.Text), &format); err != nil {
			return nil, fmt.Errorf("line %s: %w", l.Text, err)
		}
		for _, d := range format.AWS.CloudWatchMetrics {
			for _, set := range d.Dimensions {
				of, err := l.dimensions(set)
				if err != nil {
					return nil, err
				}
				for _, m := range d.Metrics {
					value, err := l.number(m.Name)
					if err != nil {
						return nil, err
					}
					samples = append(samples, Sample{d.Namespace, m.Name, of, l.At, value})
				}
			}
		}
	}
	return samples, nil
}

// dimensions are the values of a set of dimensions.
func (l *Line) dimensions(set []string) (map[string]string, error) {
	of := map[string]string{}
	for _, name := range set {
		value, ok := l.Fields[name].(string)
		if !ok || value == "" {
			return nil, fmt.Errorf("line %s: dimension %s has no value", l.Text, name)
		}
		of[name] = value
	}
	return of, nil
}

func (l *Line) number(name string) (float64, error) {
	n, ok := l.Fields[name].(json.Number)
	if !ok {
		return 0, fmt.Errorf("line %s: metric %s has no value", l.Text, name)
	}
	return n.Float64()
}

// Names are the different metrics of samples, each as NAMESPACE NAME and its dimensions,
// sorted. Each of them is one that AWS bills.
func Names(samples []Sample) []string {
	all := map[string]bool{}
	for _, s := range samples {
		text := s.Namespace + " " + s.Name
		for _, d := range slices.Sorted(maps.Keys(s.Dimensions)) {
			text += " " + d + "=" + s.Dimensions[d]
		}
		all[text] = true
	}
	return slices.Sorted(maps.Keys(all))
}
