package rules

import (
	"encoding/json"
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// of makes the file of triggers of a source with these filters; "" has none.
func of(source string, filters ...string) string {
	var all []string
	for i, f := range filters {
		text := fmt.Sprintf(`{"name":"t%d","source":%q,"prompt":"x"`, i, source)
		if f != "" {
			text += `,"filter":` + f
		}
		all = append(all, text+"}")
	}
	return `{"triggers":[` + strings.Join(all, ",") + `]}`
}

func TestFiltersThatArePassed(t *testing.T) {
	long := func(n int) string { return `{"body":{"a":["` + strings.Repeat("x", n) + `"]}}` }
	tests := []struct {
		name, setting, pattern, reason string
	}{
		{"texts", of("eventbridge", `{"detail-type":["Order placed","Order paid"],"detail":{"kind":["a"]}}`), `{"detail":{"kind":["a"]},"detail-type":["Order placed","Order paid"]}`, ""},
		{"source, which a parameter selects", of("eventbridge", `{"source":["shop"],"detail-type":["a"]}`), `{"detail-type":["a"]}`, ""},
		{"source alone", of("eventbridge", `{"source":["shop"]}`), "", "trigger t0: its filter has only source, which the parameter EventSources selects"},
		{"prefix and suffix", of("eventbridge", `{"detail":{"key":[{"prefix":"in/"},{"suffix":".pdf"}]}}`), `{"detail":{"key":[{"prefix":"in/"},{"suffix":".pdf"}]}}`, ""},
		{"two triggers", of("eventbridge", `{"detail-type":["a"]}`, `{"detail-type":["b"]}`), `{"$or":[{"detail-type":["a"]},{"detail-type":["b"]}]}`, ""},
		{"two that are the same", of("eventbridge", `{"detail-type":["a"]}`, `{"source":["x"],"detail-type":["a"]}`), `{"detail-type":["a"]}`, ""},
		{"one of two without a filter", of("eventbridge", `{"detail-type":["a"]}`, ""), "", "trigger t1: it has no filter, so it accepts every event"},
		{"numeric", of("eventbridge", `{"detail":{"total":[{"numeric":[">=",100]}]}}`), "", "trigger t0: filter.detail.total has numeric, which AWS may decide in another way"},
		{"exists", of("eventbridge", `{"detail":{"a":[{"exists":true}]}}`), "", "trigger t0: filter.detail.a has exists, which AWS may decide in another way"},
		{"anything-but", of("eventbridge", `{"detail":{"a":[{"anything-but":["x"]}]}}`), "", "trigger t0: filter.detail.a has anything-but, which AWS may decide in another way"},
		{"equals-ignore-case", of("eventbridge", `{"detail":{"a":["x",{"equals-ignore-case":"y"}]}}`), "", "trigger t0: filter.detail.a has equals-ignore-case, which AWS may decide in another way"},
		{"a number", of("eventbridge", `{"detail":{"a":[3.0]}}`), "", "trigger t0: filter.detail.a has 3.0, and AWS compares how such values are written"},
		{"a truth", of("eventbridge", `{"detail":{"a":[true]}}`), "", "trigger t0: filter.detail.a has true, and AWS compares how such values are written"},
		{"null", of("eventbridge", `{"detail":{"a":[null]}}`), "", "trigger t0: filter.detail.a has <nil>, and AWS compares how such values are written"},
		{"an empty prefix", of("eventbridge", `{"detail":{"a":[{"prefix":""}]}}`), "", "trigger t0: filter.detail.a has an empty prefix, which AWS refuses"},
		{"a body", of("sqs", `{"body":{"kind":["a"]}}`), `{"body":{"kind":["a"]}}`, ""},
		{"two bodies", of("sqs", `{"body":{"kind":["a"]}}`, `{"body":{"kind":["b"]}}`), `{"$or":[{"body":{"kind":["a"]}},{"body":{"kind":["b"]}}]}`, ""},
		{"a body that is a text", of("sqs", `{"body":["a"]}`), "", "trigger t0: its filter has something else than an object for body, which AWS would not see or would see in another form"},
		{"an attribute of a message", of("sqs", `{"body":{"a":["b"]},"messageId":["c"]}`), "", "trigger t0: its filter has something else than an object for body, which AWS would not see or would see in another form"},
		{"a body at the bound", of("sqs", long(4077)), long(4077), ""},
		{"a body beyond it", of("sqs", long(4078)), "", "the pattern has 4097 bytes, AWS allows 4096 here"},
		{"a rule at the bound", of("eventbridge", `{"a":["`+strings.Repeat("x", 1490)+`"]}`), `{"a":["` + strings.Repeat("x", 1490) + `"]}`, ""},
		{"a rule beyond it", of("eventbridge", `{"a":["`+strings.Repeat("x", 1491)+`"]}`), "", "the pattern has 1501 bytes, AWS allows 1500 here"},
		{"a change", of("dynamodb", `{"eventName":["MODIFY"],"dynamodb":{"NewImage":{"count":{"N":["0"]}}}}`), `{"dynamodb":{"NewImage":{"count":{"N":["0"]}}},"eventName":["MODIFY"]}`, ""},
		{"another part of a change", of("dynamodb", `{"awsRegion":["x"]}`), "", "trigger t0: its filter has awsRegion, and AWS documents eventName and dynamodb"},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			got, err := PassedFilters(tt.setting)
			if err != nil || len(got) != 1 {
				t.Fatalf("%v, %v", got, err)
			}
			if string(got[0].Pattern) != tt.pattern || got[0].Reason != tt.reason {
				t.Errorf("pattern %s, %q\nwant    %s, %q", got[0].Pattern, got[0].Reason, tt.pattern, tt.reason)
			}
		})
	}
}

// Sources are independent, and those that AWS cannot filter are absent.
func TestFiltersOfSeveralSources(t *testing.T) {
	got, err := PassedFilters(`{"triggers":[
		{"name":"a","source":"sqs","prompt":"x"}, {"name":"b","source":"s3","prompt":"x","filter":{"eventName":["a"]}},
		{"name":"c","source":"eventbridge","prompt":"x","filter":{"detail-type":["a"]}}]}`)
	want := []Passed{{Source: "eventbridge", Pattern: json.RawMessage(`{"detail-type":["a"]}`)}, {Source: "sqs", Reason: "trigger a: it has no filter, so it accepts every event"}}
	if diff := cmp.Diff(want, got); err != nil || diff != "" {
		t.Errorf("%v %s", err, diff)
	}
	if got, err := PassedFilters(""); err != nil || got != nil {
		t.Errorf("without triggers: %v, %v", got, err)
	}
	if _, err := PassedFilters(of("sqs", `{"body":"x"}`)); err == nil || err.Error() != "triggers[0] (t0): filter.body must be a list of values and operators, or an object" {
		t.Error(err)
	}
}

// atAWS decides a pattern as AWS documents it for texts, prefix, suffix and $or. A list in an
// event matches if one of its items does, and lists in lists are one list.
func atAWS(pattern map[string]any, event any) bool {
	if items, ok := event.([]any); ok {
		for _, item := range items {
			if atAWS(pattern, item) {
				return true
			}
		}
		return false
	}
	fields, _ := event.(map[string]any)
	for name, want := range pattern {
		switch want := want.(type) {
		case map[string]any:
			if !atAWS(want, fields[name]) {
				return false
			}
		case []any:
			matches := false
			for _, one := range want {
				if name == "$or" {
					matches = matches || atAWS(one.(map[string]any), event)
				} else {
					matches = matches || leafAtAWS(one, fields[name])
				}
			}
			if !matches {
				return false
			}
		}
	}
	return true
}

func leafAtAWS(want, value any) bool {
	if items, ok := value.([]any); ok {
		for _, item := range items {
			if leafAtAWS(want, item) {
				return true
			}
		}
		return false
	}
	text, ok := value.(string)
	if !ok {
		return false
	}
	operator, ok := want.(map[string]any)
	if !ok {
		return text == want
	}
	if prefix, ok := operator["prefix"].(string); ok {
		return len(text) >= len(prefix) && text[:len(prefix)] == prefix
	}
	suffix := operator["suffix"].(string)
	return len(text) >= len(suffix) && text[len(text)-len(suffix):] == suffix
}

// The documented results of AWS, for the matcher of the next test.
func TestTheMatcherOfAWS(t *testing.T) {
	for _, tt := range []struct {
		pattern, event string
		want           bool
	}{
		{`{"source":["aws.ec2"]}`, `{"source":"aws.ec2"}`, true},
		{`{"source":["aws.ec2"]}`, `{"source":"aws.EC2"}`, false},
		{`{"source":["aws.ec2"]}`, `{}`, false},
		{`{"source":["a","b"],"time":[{"prefix":"2017-10-02"}]}`, `{"source":"b","time":"2017-10-02T18:43:48Z"}`, true},
		{`{"source":["a","b"],"time":[{"prefix":"2017-10-02"}]}`, `{"source":"b","time":"2017-10-03T18:43:48Z"}`, false},
		{`{"FileName":[{"suffix":".png"}]}`, `{"FileName":"a.png"}`, true},
		{`{"FileName":[{"suffix":".png"}]}`, `{"FileName":"a.png.txt"}`, false},
		{`{"resources":["x"]}`, `{"resources":["w","x"]}`, true},
		{`{"resources":["x"]}`, `{"resources":[]}`, false},
		{`{"detail":{"state":["on"]}}`, `{"detail":{"state":"on","more":1}}`, true},
		{`{"detail":{"state":["on"]}}`, `{"detail":"on"}`, false},
		{`{"$or":[{"a":["1"]},{"b":["2"]}]}`, `{"a":"0","b":"2"}`, true},
		{`{"$or":[{"a":["1"]},{"b":["2"]}]}`, `{"a":"2","b":"1"}`, false},
		{`{"c":["3"],"$or":[{"a":["1"]},{"b":["2"]}]}`, `{"a":"1"}`, false},
		{`{"a":["1"]}`, `{"a":1}`, false},
	} {
		var pattern map[string]any
		var event any
		if json.Unmarshal([]byte(tt.pattern), &pattern) != nil || json.Unmarshal([]byte(tt.event), &event) != nil {
			t.Fatal(tt)
		}
		if got := atAWS(pattern, event); got != tt.want {
			t.Errorf("%s of %s: %v", tt.pattern, tt.event, got)
		}
	}
}

// generator makes patterns and events of few names and texts, so that many match.
type generator struct{ *rand.Rand }

var texts = []string{"", "a", "b", "ab", "ba", "abc"}

func (g generator) name() string { return string(rune('a' + g.IntN(2))) }

func (g generator) pattern(depth int) map[string]any {
	fields := map[string]any{}
	for range 1 + g.IntN(2) {
		if depth > 0 && g.IntN(4) == 0 {
			fields[g.name()] = g.pattern(depth - 1)
			continue
		}
		var tests []any
		for range 1 + g.IntN(2) {
			text := texts[g.IntN(len(texts))]
			switch kind := g.IntN(3); {
			case kind == 0 || text == "":
				tests = append(tests, text)
			default:
				tests = append(tests, map[string]any{[]string{"prefix", "suffix"}[kind-1]: text})
			}
		}
		fields[g.name()] = tests
	}
	return fields
}

// value makes a part of an event; nested allows lists within lists.
func (g generator) value(depth int, nested bool) any {
	switch kind := g.IntN(10); {
	case kind < 4 && depth > 0:
		return g.event(depth-1, nested)
	case kind < 6 && depth > 0:
		var items []any
		for range g.IntN(3) {
			item := g.value(depth-1, nested)
			if _, list := item.([]any); list && !nested {
				item = "a"
			}
			items = append(items, item)
		}
		return append([]any{}, items...)
	case kind == 6:
		return []any{nil, true, 1.5}[g.IntN(3)]
	}
	return texts[g.IntN(len(texts))]
}

func (g generator) event(depth int, nested bool) map[string]any {
	fields := map[string]any{}
	for range 1 + g.IntN(4) {
		fields[g.name()] = g.value(depth, nested)
	}
	return fields
}

// AWS selects exactly the events that a trigger accepts; with lists in lists it may select
// more, and never less.
func TestAWSSelectsWhatTriggersAccept(t *testing.T) {
	matched := 0
	for seed := range uint64(2000) {
		g := generator{rand.New(rand.NewPCG(seed, 1))}
		nested := seed%4 == 0
		var filters []string
		for range 1 + g.IntN(3) {
			text, err := json.Marshal(g.pattern(1))
			if err != nil {
				t.Fatal(err)
			}
			filters = append(filters, string(text))
		}
		passed, err := PassedFilters(of("eventbridge", filters...))
		if err != nil || len(passed) != 1 || passed[0].Pattern == nil {
			t.Fatalf("%s: %+v, %v", filters, passed, err)
		}
		var pattern map[string]any
		if err := json.Unmarshal(passed[0].Pattern, &pattern); err != nil {
			t.Fatal(err)
		}
		event := g.event(3, nested)
		text, err := json.Marshal(event)
		if err != nil {
			t.Fatal(err)
		}
		ours := false
		decoded, err := decodeEvent(text)
		if err != nil {
			t.Fatal(err)
		}
		for _, f := range filters {
			p, err := parsePattern(json.RawMessage(f))
			if err != nil {
				t.Fatal(err)
			}
			ours = ours || p.matches(decoded)
		}
		if ours {
			matched++
		}
		if aws := atAWS(pattern, any(event)); aws != ours && (!nested || ours) {
			t.Fatalf("seed %d: AWS %v, triggers %v\nfilters %s\npattern %s\nevent   %s", seed, aws, ours, filters, passed[0].Pattern, text)
		}
	}
	if matched < 150 || matched > 1800 {
		t.Errorf("%d of 2,000 events matched", matched)
	}
}
