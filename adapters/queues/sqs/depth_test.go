package sqs

import "testing"

func TestDepthCountsMessages(t *testing.T) {
	q, s := queue(t, func(string, map[string]any) reply {
		return reply{body: `{"Attributes":{"ApproximateNumberOfMessages":"3","ApproximateNumberOfMessagesNotVisible":"2"}}`}
	})
	if got, err := q.Depth(t.Context()); err != nil || got != (Depth{Waiting: 3, InFlight: 2}) {
		t.Errorf("Depth returns %+v, %v", got, err)
	}
	s.reply = func(string, map[string]any) reply { return noQueue }
	if got, err := q.Depth(t.Context()); err == nil || got != (Depth{}) {
		t.Errorf("Depth of no queue returns %+v, %v", got, err)
	}
}
