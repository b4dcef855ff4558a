package prices

import (
	"strings"
	"testing"
)

func TestTheEmbeddedTable(t *testing.T) {
	p, err := Default()
	if err != nil {
		t.Fatal(err)
	}
	if p.Region != "us-east-1" || p.Million.WriteUnits != 0.625 || p.Million.ReadUnits != 0.125 ||
		p.Million.QueueRequests != 0.40 || p.Million.GBSeconds != 13.3334 {
		t.Errorf("%+v", p)
	}
}

func TestATableThatIsRefused(t *testing.T) {
	const good = `{"region":"eu","as_of":"2026-01-02","source":"s","usd_per_million":{"dynamodb_write_units":1,"dynamodb_read_units":1,"queue_requests":1,"lambda_gb_seconds":1,"lambda_requests":1,"rest_api_requests":1,"http_api_requests":1,"s3_puts":1,"s3_gets":1,"schedule_invocations":1},"usd_per_gb":{"log_ingestion":1,"log_query":1,"response_stream":1},"usd_per_month":{"cloudwatch_metric":1,"alarm_metric":1,"dashboard":1},"usd_per_gb_month":{"dynamodb_storage":1,"s3_storage":1}}`
	if _, err := parse([]byte(good)); err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct{ name, old, new, want string }{
		{"an unknown key", `"s3_puts"`, `"s3_put"`, `"s3_put"`},
		{"a price of zero", `"s3_gets":1`, `"s3_gets":0`, "s3_gets is 0"},
		{"a missing price", `"log_ingestion":1,`, ``, "log_ingestion is 0"},
		{"a negative price", `"s3_storage":1`, `"s3_storage":-1`, "s3_storage is -1"},
		{"a missing metric", `"cloudwatch_metric":1,`, ``, "cloudwatch_metric is 0"},
		{"a missing alarm", `"alarm_metric":1,`, ``, "alarm_metric is 0"},
		{"a dashboard of zero", `"dashboard":1`, `"dashboard":0`, "dashboard is 0"},
		{"a missing query", `"log_query":1,`, ``, "log_query is 0"},
		{"no day", "2026-01-02", "January", `"January"`},
		{"no region", `"eu"`, `""`, "region and source"},
	} {
		t.Run(test.name, func(t *testing.T) {
			_, err := parse([]byte(strings.Replace(good, test.old, test.new, 1)))
			if err == nil || !strings.Contains(err.Error(), test.want) {
				t.Errorf("%v, want %q in it", err, test.want)
			}
		})
	}
}
