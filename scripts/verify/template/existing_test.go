package template

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// either has for each reference to a table or to the bucket its form in the template, which is
// the stack's own resource or an existing one of the same kind.
var either = map[string]string{
	"!Ref Threads":                      `!If ["OwnTables","!Ref Threads","!Ref ThreadsTable"]`,
	"!Ref Config":                       `!If ["OwnTables","!Ref Config","!Ref ConfigTable"]`,
	"!Ref Payloads":                     `!If ["OwnBucket","!Ref Payloads","!Ref PayloadBucket"]`,
	"!GetAtt Threads.Arn":               `!If ["OwnTables","!GetAtt Threads.Arn","!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ThreadsTable}"]`,
	"!GetAtt Config.Arn":                `!If ["OwnTables","!GetAtt Config.Arn","!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ConfigTable}"]`,
	"!GetAtt Payloads.Arn":              `!If ["OwnBucket","!GetAtt Payloads.Arn","!Sub arn:${AWS::Partition}:s3:::${PayloadBucket}"]`,
	"!Sub ${Payloads.Arn}/*":            `!If ["OwnBucket","!Sub ${Payloads.Arn}/*","!Sub arn:${AWS::Partition}:s3:::${PayloadBucket}/*"]`,
	"!Sub ${Threads.Arn}/index/due":     `!If ["OwnTables","!Sub ${Threads.Arn}/index/due","!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ThreadsTable}/index/due"]`,
	"!Sub ${Threads.Arn}/index/listed":  `!If ["OwnTables","!Sub ${Threads.Arn}/index/listed","!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ThreadsTable}/index/listed"]`,
	"!Sub ${Threads.Arn}/index/waiting": `!If ["OwnTables","!Sub ${Threads.Arn}/index/waiting","!Sub arn:${AWS::Partition}:dynamodb:${AWS::Region}:${AWS::AccountId}:table/${ThreadsTable}/index/waiting"]`,
}

// own returns the reference to the stack's own resource in place of one that also allows an
// existing resource. Other texts stay.
func own(text string) string {
	for short, full := range either {
		if text == full {
			return short
		}
	}
	return text
}

// TestExistingResourcesTakeThePlaceOfTheStacksOwn: whatever names a table or the bucket names
// the existing one when the parameters do.
func TestExistingResourcesTakeThePlaceOfTheStacksOwn(t *testing.T) {
	of := read(t)
	for id, condition := range map[string]string{"Threads": "OwnTables", "Config": "OwnTables", "Payloads": "OwnBucket"} {
		if got := of.Resources[id].Condition; got != condition {
			t.Errorf("%s exists on condition %q, want %q", id, got, condition)
		}
	}
	for condition, parameter := range map[string]string{"OwnTables": "ThreadsTable", "OwnBucket": "PayloadBucket"} {
		if got, want := of.Conditions[condition], `!Equals ["!Ref `+parameter+`",""]`; got != want || of.Parameters[parameter].Default != "" {
			t.Errorf("condition %s is %s, want %s; the parameter is %v by default", condition, got, want, of.Parameters[parameter].Default)
		}
	}
	outputs := map[string]string{}
	for _, name := range []string{"TableName", "ConfigTableName", "PayloadBucketName"} {
		outputs[name] = of.Outputs[name].Value
	}
	want := map[string]string{"TableName": either["!Ref Threads"], "ConfigTableName": either["!Ref Config"], "PayloadBucketName": either["!Ref Payloads"]}
	if diff := cmp.Diff(want, outputs); diff != "" {
		t.Error(diff)
	}
	text := readText(t, "template.yaml")
	for _, reference := range []string{"!Ref Threads", "!Ref Config", "!Ref Payloads", "!GetAtt Threads", "!GetAtt Config", "!GetAtt Payloads", "${Threads.", "${Config.", "${Payloads."} {
		for n, line := range strings.Split(text, "\n") {
			plain := strings.Count(line, reference) - strings.Count(line, reference+"Table") - strings.Count(line, "OwnTables, "+reference) - strings.Count(line, "OwnBucket, "+reference) -
				strings.Count(line, `OwnTables, !Sub "`+reference) - strings.Count(line, `OwnBucket, !Sub "`+reference)
			if plain != 0 {
				t.Errorf("line %d has %s without an existing resource in its place: %s", n+1, reference, strings.TrimSpace(line))
			}
		}
	}
}

// TestTablesExistInPairs: snapshots of configuration in one are named by threads in the other.
func TestTablesExistInPairs(t *testing.T) {
	got := map[string]string{}
	for _, a := range read(t).Rules["ExistingTables"].Assertions {
		got[a.AssertDescription] = a.Assert
	}
	want := map[string]string{
		"ThreadsTable needs ConfigTable.": `!Or ["!Equals [\"!Ref ThreadsTable\",\"\"]","!Not [\"!Equals [\\\"!Ref ConfigTable\\\",\\\"\\\"]\"]"]`,
		"ConfigTable needs ThreadsTable.": `!Or ["!Equals [\"!Ref ConfigTable\",\"\"]","!Not [\"!Equals [\\\"!Ref ThreadsTable\\\",\\\"\\\"]\"]"]`,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}
