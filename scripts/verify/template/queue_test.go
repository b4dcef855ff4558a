package template

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

// ifKey is the key of the deployment, where there is one.
const ifKey = `!If ["HasKey","!Ref KeyArn","!Ref AWS::NoValue"]`

func TestQueuesAreEncrypted(t *testing.T) {
	for id, q := range queues(t, read(t)) {
		if q.SqsManagedSseEnabled != `!If ["HasKey","!Ref AWS::NoValue",true]` || q.KmsMasterKeyId != ifKey {
			t.Errorf("%s: %v, %s", id, q.SqsManagedSseEnabled, q.KmsMasterKeyId)
		}
	}
}

// TestQueuesAreReachedOverTLSAlone: of each queue, everybody is denied what is not.
func TestQueuesAreReachedOverTLSAlone(t *testing.T) {
	type policy struct {
		Queues         []string
		PolicyDocument struct {
			Statement []struct {
				Effect, Principal, Action, Resource string
				Condition                           map[string]map[string]string
			}
		}
	}
	of := read(t)
	all := resources[policy](t, of, "AWS::SQS::QueuePolicy")
	for id := range queues(t, of) {
		p := all[id+"Policy"]
		if len(p.Queues) != 1 || p.Queues[0] != "!Ref "+id || len(p.PolicyDocument.Statement) != 1 {
			t.Errorf("%s: policy %+v", id, p)
			continue
		}
		s := p.PolicyDocument.Statement[0]
		if s.Effect != "Deny" || s.Principal != "*" || s.Action != "sqs:*" || s.Resource != "!GetAtt "+id+".Arn" || s.Condition["Bool"]["aws:SecureTransport"] != "false" {
			t.Errorf("%s: statement %+v", id, s)
		}
	}
}

// TestWhoseDeadLettersAQueueTakes: no queue's but those of the one that wakes.
func TestWhoseDeadLettersAQueueTakes(t *testing.T) {
	type allowed struct {
		Permission string
		Sources    []string
	}
	of := read(t)
	got := map[string]allowed{}
	for id, q := range queues(t, of) {
		if p := q.RedriveAllowPolicy; p != nil {
			got[id] = allowed{p.Permission, p.Sources}
		}
	}
	want := map[string]allowed{
		"DeadLetterQueue":        {"byQueue", []string{"!Sub arn:${AWS::Partition}:sqs:${AWS::Region}:${AWS::AccountId}:${AWS::StackName}-wake-ups"}},
		"TriggerDeadLetterQueue": {"denyAll", nil},
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
	if name := resources[struct{ QueueName string }](t, of, "AWS::SQS::Queue")["Queue"].QueueName; name != "!Sub ${AWS::StackName}-wake-ups" {
		t.Errorf("the queue that wakes is called %q", name)
	}
}
