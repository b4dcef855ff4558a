//go:build aws

package deployed

import (
	"bytes"
	"encoding/json"
	"testing"

	"github.com/google/go-cmp/cmp"

	"github.com/reveille-run/reveille/scripts/verify/deployed/stack"
)

// The mappings of triggers have the filters that make deploy writes, and none before.
func TestFiltersOfMappings(t *testing.T) {
	text := transform(t)
	parameters := map[string]string{"TriggerQueue": "arn:aws:sqs:us-east-1:123456789012:q", "TriggerStream": "arn:aws:dynamodb:us-east-1:123456789012:table/t/stream/s"}
	criteria := func(text []byte) map[string]string {
		s, err := stack.Read(text, stack.Options{Name: "agents", Parameters: parameters})
		if err != nil {
			t.Fatal(err)
		}
		all := map[string]string{}
		for id, p := range properties[struct {
			FilterCriteria struct{ Filters []struct{ Pattern string } }
		}](t, s, "AWS::Lambda::EventSourceMapping") {
			for _, f := range p.FilterCriteria.Filters {
				all[id] += f.Pattern
			}
		}
		return all
	}
	if got := criteria(text); len(got) != 0 {
		t.Errorf("without filters: %v", got)
	}
	queue, err := json.Marshal(`{"body":{"kind":["ticket"]}}`)
	if err != nil {
		t.Fatal(err)
	}
	filtered := bytes.Replace(text, []byte(`"Queue": "none"`), append([]byte(`"Queue": `), queue...), 1)
	filtered = bytes.Replace(filtered, []byte(`"Stream": "none"`), []byte(`"Stream": "{\"eventName\":[\"MODIFY\"]}"`), 1)
	want := map[string]string{"TriggerQueueMapping": `{"body":{"kind":["ticket"]}}`, "TriggerStreamMapping": `{"eventName":["MODIFY"]}`}
	if diff := cmp.Diff(want, criteria(filtered)); diff != "" {
		t.Error(diff)
	}
}
