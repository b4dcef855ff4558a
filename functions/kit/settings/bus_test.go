package settings

import (
	"strings"
	"testing"
)

func TestNamesOfBuses(t *testing.T) {
	const arn = "arn:aws:events:eu-central-1:123456789012:event-bus/"
	tests := []struct {
		name, value string
		want        bool
	}{
		{"a name", "orders", true},
		{"every kind of character", "aws.partner/example.com_A-1", true},
		{"256 characters", strings.Repeat("a", 256), true},
		{"257 characters", strings.Repeat("a", 257), false},
		{"an ARN", arn + "orders", true},
		{"an ARN with 256 characters", arn + strings.Repeat("a", 256), true},
		{"an ARN with 257 characters", arn + strings.Repeat("a", 257), false},
		{"an ARN without a name", arn, false},
		{"an ARN of something else", "arn:aws:sqs:eu-central-1:123456789012:orders", false},
		{"a space", "my orders", false},
	}
	for _, tt := range tests {
		t.Run(tt.name, func(t *testing.T) {
			if got := isBus(tt.value); got != tt.want {
				t.Errorf("isBus(%q) = %v", tt.value, got)
			}
		})
	}
}
