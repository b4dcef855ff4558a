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

func TestTheCollectorIsTold(t *testing.T) {
	limit, percent := debug.SetMemoryLimit(-1), debug.SetGCPercent(100)
	defer func() { debug.SetMemoryLimit(limit); debug.SetGCPercent(percent) }()
	for _, test := range []struct {
		name, size, own, gogc string
		limit                 int64
		percent               int
	}{
		{"on Lambda", "1024", "", "", 912680550, 400},
		{"with a percentage of one's own", "1024", "", "50", 912680550, 100},
		{"with a limit of one's own", "1024", "1GiB", "", limit, 100},
		{"not on Lambda", "", "", "", limit, 100},
	} {
		t.Run(test.name, func(t *testing.T) {
			debug.SetMemoryLimit(limit)
			debug.SetGCPercent(100)
			t.Setenv("AWS_LAMBDA_FUNCTION_MEMORY_SIZE", test.size)
			t.Setenv("GOMEMLIMIT", test.own)
			t.Setenv("GOGC", test.gogc)
			limitMemory()
			if got := debug.SetMemoryLimit(-1); got != test.limit {
				t.Errorf("limit %d, want %d", got, test.limit)
			}
			if got := debug.SetGCPercent(100); got != test.percent {
				t.Errorf("percentage %d, want %d", got, test.percent)
			}
		})
	}
}
