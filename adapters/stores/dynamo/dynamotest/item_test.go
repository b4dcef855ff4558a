package dynamotest

import (
	"encoding/json"
	"testing"
)

func TestItemSizes(t *testing.T) {
	tests := []struct {
		name, item string
		want       int
	}{
		{"no attributes", `{}`, 0},
		{"text: 2 + 9", `{"pk":{"S":"T#acme#t1"}}`, 11},
		{"text is UTF-8: 1 + 2", `{"p":{"S":"ä"}}`, 3},
		{"bytes as they are, not as base64: 1 + 3", `{"p":{"B":"AAEC"}}`, 4},
		{"no bytes", `{"p":{"B":""}}`, 1},
		{"a number of one digit: 1 + 2", `{"v":{"N":"7"}}`, 3},
		{"of two digits: 1 + 2", `{"v":{"N":"42"}}`, 3},
		{"of three digits: 1 + 3", `{"v":{"N":"423"}}`, 4},
		{"of thirteen digits: 1 + 8", `{"d":{"N":"1234567890123"}}`, 9},
		{"whose zeros at the end do not count: 1 + 6", `{"d":{"N":"1764000060000"}}`, 7},
		{"zero: 1 + 1", `{"s":{"N":"0"}}`, 2},
		{"below zero: 1 + 3", `{"d":{"N":"-42"}}`, 4},
		{"a boolean: 1 + 1", `{"z":{"BOOL":true}}`, 2},
		{"a head: 11 + 3 + 50 + 3 + 3 + 3", `{"pk":{"S":"T#acme#t1"},"sk":{"S":"H"},"h":{"B":"AQECwAEAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAAUAAAAAAAAAAA=="},"v":{"N":"2"},"g":{"N":"7"},"d":{"N":"120000"}}`, 73},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			var it wireItem
			if err := json.Unmarshal([]byte(tt.item), &it); err != nil {
				t.Fatal(err)
			}
			if got := it.size(); got != tt.want {
				t.Errorf("%d bytes, want %d", got, tt.want)
			}
		})
	}
}
