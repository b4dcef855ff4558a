package tables

import (
	"encoding/json"
	"errors"
	"io"
	"net/http"
	"strings"
	"testing"
	"testing/synctest"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
)

// endpoint is a DynamoDB of one table.
type endpoint struct {
	exists     bool
	creating   int    // how many times DescribeTable says that it is being made
	timeToLive string // its status
	lose       string // the operation whose next answer is lost, after it was applied
	asked      []string
}

// RoundTrip implements http.RoundTripper.
func (e *endpoint) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	e.asked = append(e.asked, operation)
	status, response := http.StatusOK, `{}`
	switch operation {
	case "CreateTable":
		if e.exists {
			status, response = http.StatusBadRequest, `{"__type":"com.amazonaws.dynamodb.v20120810#ResourceInUseException","message":"Table already exists: any"}`
		}
		e.exists = true
	case "DescribeTable":
		response = `{"Table":{"TableStatus":"ACTIVE"}}`
		if e.creating > 0 {
			e.creating--
			response = `{"Table":{"TableStatus":"CREATING"}}`
		}
	case "DescribeTimeToLive":
		response = `{"TimeToLiveDescription":{"TimeToLiveStatus":"` + e.timeToLive + `"}}`
	case "UpdateTimeToLive":
		var body struct {
			TimeToLiveSpecification struct {
				AttributeName string
				Enabled       bool
			}
		}
		if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
			return nil, err
		}
		if s := body.TimeToLiveSpecification; s.AttributeName == "x" && s.Enabled {
			e.timeToLive = "ENABLED"
		}
	}
	if operation == e.lose {
		e.lose = ""
		return nil, errors.New("connection reset by peer")
	}
	return &http.Response{
		StatusCode: status, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(response)),
	}, nil
}

func TestCreate(t *testing.T) {
	tests := []struct {
		name  string
		table endpoint
		asked []string
	}{
		{"none is there", endpoint{timeToLive: "DISABLED"}, []string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"}},
		{
			"the answer is lost", endpoint{timeToLive: "DISABLED", lose: "CreateTable"},
			[]string{"CreateTable", "CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"},
		},
		{
			"another is making it", endpoint{exists: true, creating: 1, timeToLive: "ENABLING"},
			[]string{"CreateTable", "DescribeTable", "DescribeTable", "DescribeTimeToLive"},
		},
		{"it is there", endpoint{exists: true, timeToLive: "ENABLED"}, []string{"CreateTable", "DescribeTable", "DescribeTimeToLive"}},
		{
			"its making was cut short", endpoint{exists: true, timeToLive: "DISABLED"},
			[]string{"CreateTable", "DescribeTable", "DescribeTimeToLive", "UpdateTimeToLive"},
		},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				client, err := dynamo.NewClient(awsenv.Config{Transport: &tt.table, Getenv: func(name string) string {
					return map[string]string{"AWS_REGION": "us-east-1", "AWS_ACCESS_KEY_ID": "test", "AWS_SECRET_ACCESS_KEY": "test"}[name]
				}})
				if err != nil {
					t.Fatal(err)
				}
				if err := Create(t.Context(), client, "any", ""); err != nil {
					t.Fatal(err)
				}
				if diff := cmp.Diff(tt.asked, tt.table.asked); diff != "" {
					t.Error(diff)
				}
				if s := tt.table.timeToLive; s != "ENABLED" && s != "ENABLING" {
					t.Errorf("time to live is %s", s)
				}
			})
		})
	}
}
