package core_test

import (
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/reveille-run/reveille/core"
)

// A record that is too large and a head that is too large have one code, and a
// caller that waits for the one must not take the other for it.
func TestSentinelsOfOneCodeAreDifferentErrors(t *testing.T) {
	record := core.Errorf(core.CodeTooLarge, "record is over the size limit")
	head := core.Errorf(core.CodeTooLarge, "thread head is over its size limit")
	tests := []struct {
		name   string
		err    error
		target error
		want   bool
	}{
		{"itself", record, record, true},
		{"another of its code", record, head, false},
		{"another of its code and text", record, core.Errorf(core.CodeTooLarge, "record is over the size limit"), false},
		{"wrapped", fmt.Errorf("put R#1: %w", record), record, true},
		{"wrapped, another of its code", fmt.Errorf("put R#1: %w", record), head, false},
		{"wrapped under another code", core.Errorf(core.CodeInvalid, "put R#1: %w", record), record, true},
		{"wrapped beside another error", core.Errorf(core.CodeInvalid, "put R#1: %w: %w", record, io.EOF), record, true},
		{"the error beside", core.Errorf(core.CodeInvalid, "put R#1: %w: %w", record, io.EOF), io.EOF, true},
		{"joined", errors.Join(io.EOF, record), record, true},
	}
	for _, tt := range tests {
		if got := errors.Is(tt.err, tt.target); got != tt.want {
			t.Errorf("%s: errors.Is(%q, %q) is %v, want %v", tt.name, tt.err, tt.target, got, tt.want)
		}
	}
}

func TestCodeOfIsThatOfTheOutermostError(t *testing.T) {
	record := core.Errorf(core.CodeTooLarge, "record is over the size limit")
	tests := []struct {
		name string
		err  error
		want core.Code
	}{
		{"none", nil, ""},
		{"without a code", io.EOF, core.CodeInternal},
		{"a sentinel", record, core.CodeTooLarge},
		{"wrapped without a code", fmt.Errorf("put R#1: %w", record), core.CodeTooLarge},
		{"wrapped under another code", core.Errorf(core.CodeInvalid, "put R#1: %w", record), core.CodeInvalid},
		{"an error with a code around one without", core.Errorf(core.CodeUnavailable, "read: %w", io.EOF), core.CodeUnavailable},
	}
	for _, tt := range tests {
		if got := core.CodeOf(tt.err); got != tt.want {
			t.Errorf("%s: CodeOf(%v) is %q, want %q", tt.name, tt.err, got, tt.want)
		}
	}
}
