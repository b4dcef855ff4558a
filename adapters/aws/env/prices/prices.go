package prices

import (
	_ "embed"
	"fmt"
	"time"

	"github.com/reveille-run/reveille/core/strict"
)

//go:embed prices.json
var embedded []byte

// Table has the prices of AWS in one region.
type Table struct {
	Region string `json:"region"`
	AsOf   string `json:"as_of"`  // the day on which the prices were read, YYYY-MM-DD
	Source string `json:"source"` // where they were read, and what they leave out

	// Million has the prices of requests and other counted units, in USD per million.
	Million struct {
		WriteUnits    float64 `json:"dynamodb_write_units"` // on-demand write request units
		ReadUnits     float64 `json:"dynamodb_read_units"`  // on-demand read request units
		QueueRequests float64 `json:"queue_requests"`       // SQS standard: sends, receives and deletes, 64 KB each
		GBSeconds     float64 `json:"lambda_gb_seconds"`    // arm64
		Invocations   float64 `json:"lambda_requests"`
		RESTRequests  float64 `json:"rest_api_requests"`
		HTTPRequests  float64 `json:"http_api_requests"`
		ObjectPuts    float64 `json:"s3_puts"`
		ObjectGets    float64 `json:"s3_gets"`
		Schedules     float64 `json:"schedule_invocations"`
	} `json:"usd_per_million"`
	// GB has the prices of transfer, in USD per GB.
	GB struct {
		Logs     float64 `json:"log_ingestion"`
		Queried  float64 `json:"log_query"`       // that queries of Logs Insights read
		Streamed float64 `json:"response_stream"` // of a streamed response, above its first 6 MB
	} `json:"usd_per_gb"`
	// Month has the prices of CloudWatch for each of these, in USD per month.
	Month struct {
		Metric      float64 `json:"cloudwatch_metric"` // of our own, in proportion to the hours in which it has values
		AlarmMetric float64 `json:"alarm_metric"`      // that an alarm watches
		Dashboard   float64 `json:"dashboard"`
	} `json:"usd_per_month"`
	// GBMonth has the prices of storage, in USD per GB and month.
	GBMonth struct {
		Table   float64 `json:"dynamodb_storage"`
		Objects float64 `json:"s3_storage"`
	} `json:"usd_per_gb_month"`
}

// Default returns the embedded table.
func Default() (Table, error) { return parse(embedded) }

// parse reads a table. An unknown key, a price that is missing, zero or negative, and an
// invalid date are errors: nothing here is free.
func parse(data []byte) (Table, error) {
	var t Table
	if err := strict.Decode(data, &t); err != nil {
		return Table{}, fmt.Errorf("prices: %w", err)
	}
	if _, err := time.Parse(time.DateOnly, t.AsOf); err != nil {
		return Table{}, fmt.Errorf("prices: as_of %q is not a date, want YYYY-MM-DD", t.AsOf)
	}
	if t.Region == "" || t.Source == "" {
		return Table{}, fmt.Errorf("prices: region and source are required")
	}
	for _, p := range t.named() {
		if !(p.usd > 0) {
			return Table{}, fmt.Errorf("prices: %s is %v, want more than 0", p.name, p.usd)
		}
	}
	return t, nil
}

type named struct {
	name string
	usd  float64
}

func (t Table) named() []named {
	m := t.Million
	return []named{
		{"dynamodb_write_units", m.WriteUnits}, {"dynamodb_read_units", m.ReadUnits},
		{"queue_requests", m.QueueRequests}, {"lambda_gb_seconds", m.GBSeconds},
		{"lambda_requests", m.Invocations}, {"rest_api_requests", m.RESTRequests},
		{"http_api_requests", m.HTTPRequests}, {"s3_puts", m.ObjectPuts}, {"s3_gets", m.ObjectGets},
		{"schedule_invocations", m.Schedules}, {"log_ingestion", t.GB.Logs},
		{"response_stream", t.GB.Streamed}, {"dynamodb_storage", t.GBMonth.Table},
		{"s3_storage", t.GBMonth.Objects}, {"log_query", t.GB.Queried}, {"cloudwatch_metric", t.Month.Metric},
		{"alarm_metric", t.Month.AlarmMetric}, {"dashboard", t.Month.Dashboard},
	}
}
