package template

import (
	"encoding/json"
	"io"
	"net/http"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	awsenv "github.com/reveille-run/reveille/adapters/aws/env"
	"github.com/reveille-run/reveille/adapters/stores/dynamo"
	"github.com/reveille-run/reveille/adapters/stores/dynamo/tables"
)

// wire responds like DynamoDB and keeps what it was asked, by operation.
type wire map[string]map[string]any

// RoundTrip implements http.RoundTripper.
func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	_, operation, _ := strings.Cut(r.Header.Get("X-Amz-Target"), ".")
	var body map[string]any
	if err := json.NewDecoder(r.Body).Decode(&body); err != nil {
		return nil, err
	}
	w[operation] = body
	response := `{}`
	if operation == "DescribeTable" {
		response = `{"Table":{"TableStatus":"ACTIVE"}}`
	}
	return &http.Response{
		StatusCode: http.StatusOK, Request: r, Header: http.Header{"Content-Type": {"application/x-amz-json-1.0"}},
		Body: io.NopCloser(strings.NewReader(response)),
	}, nil
}

// TestTablesAreWhatTheAdapterMakes compares the template with the requests by which
// the adapter makes its tables: CloudFormation spells properties as the API does.
func TestTablesAreWhatTheAdapterMakes(t *testing.T) {
	of := read(t)
	tests := []struct {
		id              string
		threads, config string
	}{
		{"Threads", "any", ""},
		{"Config", "", "any"},
	}
	for _, tt := range tests {
		t.Run(tt.id, func(t *testing.T) {
			sent := wire{}
			client, err := dynamo.NewClient(awsenv.Config{Transport: sent, Getenv: func(name string) string {
				if name == "AWS_ENDPOINT_URL_DYNAMODB" {
					return ""
				}
				return "test"
			}})
			if err != nil {
				t.Fatal(err)
			}
			if err := tables.Create(t.Context(), client, tt.threads, tt.config); err != nil {
				t.Fatal(err)
			}
			want := sent["CreateTable"]
			delete(want, "TableName") // CloudFormation chooses it
			if ttl, ok := sent["UpdateTimeToLive"]; ok {
				want["TimeToLiveSpecification"] = ttl["TimeToLiveSpecification"]
			}
			// What only a deployment has.
			want["PointInTimeRecoverySpecification"] = map[string]any{"PointInTimeRecoveryEnabled": true}
			want["SSESpecification"] = `!If ["HasKey",{"KMSMasterKeyId":"!Ref KeyArn","SSEEnabled":true,"SSEType":"KMS"},{"SSEEnabled":true}]`
			want["DeletionProtectionEnabled"] = "!Ref DeletionProtection"
			if tt.id == "Threads" {
				want["OnDemandThroughput"] = `!If ["HasMaximum",{` +
					`"MaxReadRequestUnits":"!If [\"HasMaxReads\",\"!Ref MaxReadUnits\",\"!Ref AWS::NoValue\"]",` +
					`"MaxWriteRequestUnits":"!If [\"HasMaxWrites\",\"!Ref MaxWriteUnits\",\"!Ref AWS::NoValue\"]"},"!Ref AWS::NoValue"]`
			}
			if diff := cmp.Diff(want, decode[map[string]any](t, of.Resources[tt.id].Properties)); diff != "" {
				t.Error(diff)
			}
		})
	}
}

func TestTablesOutliveTheirStack(t *testing.T) {
	for _, id := range []string{"Threads", "Config"} {
		r := read(t).Resources[id]
		if r.Type != "AWS::DynamoDB::Table" || r.DeletionPolicy != "Retain" || r.UpdateReplacePolicy != "Retain" {
			t.Errorf("%s is %s, deletion %q, replacement %q", id, r.Type, r.DeletionPolicy, r.UpdateReplacePolicy)
		}
	}
}
