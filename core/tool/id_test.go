package tool_test

import (
	"testing"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/tool"
)

func TestNewIDFollowsFromKeyAndName(t *testing.T) {
	call := func(key string) tool.Call { return tool.Call{Idempotency: key} }
	const key = "01020304-0000-0000-0000-000000000000/5/0"
	tests := []struct {
		name string
		got  core.ID
		want string
	}{
		{"first", call(key).NewID("order"), "cc867ead-3a69-8f29-afbc-c9337947db7b"},
		{"the same again", tool.Call{Idempotency: key, ID: "call_1", Step: 7}.NewID("order"), "cc867ead-3a69-8f29-afbc-c9337947db7b"},
		{"another name", call(key).NewID("mail"), "a5cb415d-0093-8956-b936-5de11d814568"},
		{"another call", call(key[:len(key)-1] + "1").NewID("order"), "01a614b4-52a6-871e-a6df-f6733f74df95"},
		{"where key and name meet counts", call(key + "or").NewID("der"), "cec32e8c-c6fd-8aaa-b13b-e25a3bd7ccad"},
	}
	for _, tt := range tests {
		if got := tt.got.String(); got != tt.want {
			t.Errorf("%s: %s, want %s", tt.name, got, tt.want)
		}
	}
}
