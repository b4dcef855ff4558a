package cloud

import (
	"runtime/debug"
	"testing"
)

func TestGoUses85PercentOfTheFunctionsMemory(t *testing.T) {
	tests := []struct {
		name, size, own string
		want            int64
	}{
		{"the smallest function", "128", "", 114085068},
		{"the largest", "10240", "", 9126805504},
		{"a limit of one's own", "256", "200MiB", 0},
		{"no limit of one's own", "256", "off", 0},
		{"not on Lambda", "", "", 0},
		{"no number", "1GB", "", 0},
		{"no memory", "0", "", 0},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			given := map[string]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE": test.size, "GOMEMLIMIT": test.own}
			if got := memoryLimit(func(name string) string { return given[name] }); got != test.want {
				t.Errorf("limit %d, want %d", got, test.want)
			}
		})
	}
}

func TestTheLimitIsTold(t *testing.T) {
	before := debug.SetMemoryLimit(-1)
	defer debug.SetMemoryLimit(before)
	t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", "1024")
	t.Setenv("GOMEMLIMIT", "")
	LimitMemory()
	if got := debug.SetMemoryLimit(-1); got != 912680550 {
		t.Errorf("limit %d, want 912680550", got)
	}
}
