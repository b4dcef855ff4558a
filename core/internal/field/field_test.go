package field_test

import (
	"errors"
	"fmt"
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/field"
)

func TestErrorsSayKindIDAndField(t *testing.T) {
	tests := []struct {
		err         error
		field, text string
	}{
		{field.Invalid("agent", "a", "retry.max_retries", "is %d, allowed are 0 to 20", 21), "retry.max_retries", `agent "a": retry.max_retries is 21, allowed are 0 to 20`},
		{field.Said("pool", "", "id", "pool id is empty"), "id", "pool id is empty"},
		{field.CheckID("model", "a b"), "id", `model id "a b" has the character ' ', allowed are A-Z a-z 0-9 . _ : -`},
	}
	for _, test := range tests {
		var found *field.Error
		if !errors.As(test.err, &found) || found.Field != test.field || fmt.Sprint(test.err) != test.text || core.CodeOf(test.err) != core.CodeInvalid {
			t.Errorf("%v, %+v; want the field %s and %s", test.err, found, test.field, test.text)
		}
	}
	if err := field.CheckID("model", "a"); err != nil {
		t.Error(err)
	}
}
