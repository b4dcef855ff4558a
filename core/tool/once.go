package tool

import (
	"context"
	"encoding/json"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/internal/toolcall"
)

// Once runs a part of the call whose result is stored under the name, and returns the
// stored result, without running f, when the call runs again: after a crash, or after it
// was suspended. Between f's end and the moment when its result is stored, a crash may make
// f run again. Its changes must therefore carry the call's Key, to be recognized there.
// Names are as [core.CheckName] has them and differ within a call. A result is at most 1
// MiB of JSON. f's error is returned and not stored.
//
// A call that was abandoned, because its time was over, cannot store anything any more:
// Once then returns an error, before f starts or after it ended.
func (c Call) Once(ctx context.Context, name string, f func(ctx context.Context) (json.RawMessage, error)) (json.RawMessage, error) {
	if err := core.CheckName("name of the part", name); err != nil {
		return nil, err
	}
	if c.Parts != nil {
		if value, ok, err := c.Parts.Part(ctx, name); err != nil || ok {
			return value, err
		}
	}
	value, err := f(ctx)
	switch {
	case err != nil:
		return nil, err
	case len(value) > toolcall.MaxResult:
		return nil, toolcall.ErrResultTooLarge
	case !toolcall.ValidJSON(value):
		return nil, core.Errorf(core.CodeInvalid, "the result of part %q is not JSON", name)
	case c.Parts == nil:
		return value, nil
	}
	return c.Parts.Keep(ctx, name, value)
}
