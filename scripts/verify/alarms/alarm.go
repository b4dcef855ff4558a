package alarms

import (
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"maps"
	"math"
	"slices"
	"time"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// Alarm is an alarm of CloudWatch with resolved properties, or its metric.
type Alarm struct {
	ID                 string `json:"-"` // in the template
	AlarmDescription   string
	ActionsEnabled     *bool
	AlarmActions       []string
	OKActions          []string
	Namespace          string
	MetricName         string
	Dimensions         []struct{ Name, Value string }
	Statistic          string
	Period             int
	Metrics            []Part
	EvaluationPeriods  int
	DatapointsToAlarm  int // 0: EvaluationPeriods
	Threshold          float64
	ComparisonOperator string
	TreatMissingData   string
}

// Part is a metric or an expression of metric math.
type Part struct {
	ID         string `json:"Id"`
	Label      string
	Expression string
	ReturnData *bool
	MetricStat *Stat
}

// Stat is a statistic of a metric.
type Stat struct {
	Stat   string
	Period int
	Metric Metric
}

// Metric names a metric.
type Metric struct {
	Namespace, MetricName string
	Dimensions            []struct{ Name, Value string }
}

// Of returns the alarms of a stack that exist with its parameters, by their ids.
func Of(s *stack.Stack) ([]Alarm, error) {
	found, err := s.Of("AWS::CloudWatch::Alarm")
	if err != nil {
		return nil, err
	}
	var all []Alarm
	for _, id := range slices.Sorted(maps.Keys(found)) {
		a := Alarm{ID: id}
		decoder := json.NewDecoder(bytes.NewReader(loose(found[id])))
		decoder.DisallowUnknownFields()
		if err := decoder.Decode(&a); err != nil {
			return nil, fmt.Errorf("alarm %s: %w", id, err)
		}
		if len(a.Stats()) == 0 {
			return nil, fmt.Errorf("alarm %s has no metric", id)
		}
		all = append(all, a)
	}
	return all, nil
}

// loose makes numbers of texts that are numbers: values of parameters and mappings are texts.
func loose(properties []byte) []byte {
	var all map[string]any
	if json.Unmarshal(properties, &all) != nil {
		return properties
	}
	for _, name := range []string{"Threshold", "Period", "EvaluationPeriods", "DatapointsToAlarm"} {
		if text, ok := all[name].(string); ok {
			all[name] = json.Number(text)
		}
	}
	b, err := json.Marshal(all)
	if err != nil {
		return properties
	}
	return b
}

// Stats are the metrics of an alarm: AWS bills each of them.
func (a *Alarm) Stats() map[string]Stat {
	if len(a.Metrics) == 0 && a.MetricName != "" {
		return map[string]Stat{"": {a.Statistic, a.Period, Metric{a.Namespace, a.MetricName, a.Dimensions}}}
	}
	all := map[string]Stat{}
	for _, p := range a.Metrics {
		if p.MetricStat != nil {
			all[p.ID] = *p.MetricStat
		}
	}
	return all
}

// period is that of the alarm's data points, in seconds.
func (a *Alarm) period() int {
	for _, s := range a.Stats() {
		return s.Period
	}
	return a.Period
}

// At reports whether the alarm is in the state ALARM at a time, given all samples until
// then. Its periods end at the last full minute.
func (a *Alarm) At(samples []Sample, at time.Time) (bool, error) {
	end, length := at.Truncate(time.Minute), time.Duration(a.period())*time.Second
	if length <= 0 || a.EvaluationPeriods <= 0 {
		return false, fmt.Errorf("alarm %s: %d periods of %s", a.ID, a.EvaluationPeriods, length)
	}
	breaching := 0
	for n := range a.EvaluationPeriods {
		until := end.Add(-time.Duration(n) * length)
		value, err := a.value(samples, until.Add(-length), until)
		if err != nil {
			return false, fmt.Errorf("alarm %s: %w", a.ID, err)
		}
		breaches, err := a.breaches(value)
		if err != nil {
			return false, fmt.Errorf("alarm %s: %w", a.ID, err)
		}
		if breaches {
			breaching++
		}
	}
	needed := a.DatapointsToAlarm
	if needed == 0 {
		needed = a.EvaluationPeriods
	}
	return breaching >= needed, nil
}

// Alarming returns the ids of the alarms in the state ALARM at a time.
func Alarming(all []Alarm, samples []Sample, at time.Time) (ids []string, err error) {
	for i := range all {
		alarms, failed := all[i].At(samples, at)
		err = errors.Join(err, failed)
		if alarms {
			ids = append(ids, all[i].ID)
		}
	}
	return ids, err
}

// value is the alarm's data point of a period; NaN: it is missing.
func (a *Alarm) value(samples []Sample, from, until time.Time) (float64, error) {
	values := map[string]float64{}
	for id, stat := range a.Stats() {
		value, err := stat.of(samples, from, until)
		if err != nil {
			return 0, err
		}
		values[id] = value
	}
	if len(a.Metrics) == 0 {
		return values[""], nil
	}
	for _, p := range a.Metrics {
		if p.ReturnData != nil && !*p.ReturnData {
			continue
		}
		if p.Expression == "" {
			return values[p.ID], nil
		}
		return calculate(p.Expression, values)
	}
	return 0, errors.New("no metric returns data")
}

// of is the statistic of the samples in a period; NaN: there are none.
func (s *Stat) of(samples []Sample, from, until time.Time) (float64, error) {
	var values []float64
	for _, sample := range samples {
		if !sample.At.Before(from) && sample.At.Before(until) && s.Metric.is(sample) {
			values = append(values, sample.Value)
		}
	}
	if len(values) == 0 {
		return math.NaN(), nil
	}
	sum := 0.0
	for _, v := range values {
		sum += v
	}
	switch s.Stat {
	case "Sum":
		return sum, nil
	case "Average":
		return sum / float64(len(values)), nil
	case "Maximum":
		return slices.Max(values), nil
	case "Minimum":
		return slices.Min(values), nil
	}
	return 0, fmt.Errorf("unknown statistic %q", s.Stat)
}

// is reports whether a sample is of the metric: with exactly its dimensions.
func (m *Metric) is(s Sample) bool {
	if m.Namespace != s.Namespace || m.MetricName != s.Name || len(m.Dimensions) != len(s.Dimensions) {
		return false
	}
	for _, d := range m.Dimensions {
		if s.Dimensions[d.Name] != d.Value {
			return false
		}
	}
	return true
}

// breaches reports whether a data point breaches the threshold.
func (a *Alarm) breaches(value float64) (bool, error) {
	if math.IsNaN(value) {
		switch a.TreatMissingData {
		case "breaching":
			return true, nil
		case "notBreaching":
			return false, nil
		}
		return false, fmt.Errorf("unknown treatment of missing data %q", a.TreatMissingData)
	}
	switch a.ComparisonOperator {
	case "GreaterThanOrEqualToThreshold":
		return value >= a.Threshold, nil
	case "GreaterThanThreshold":
		return value > a.Threshold, nil
	case "LessThanThreshold":
		return value < a.Threshold, nil
	case "LessThanOrEqualToThreshold":
		return value <= a.Threshold, nil
	}
	return false, fmt.Errorf("unknown operator %q", a.ComparisonOperator)
}
