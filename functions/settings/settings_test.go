package settings

import (
	"log/slog"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

func TestReadDefaults(t *testing.T) {
	got, err := Read([]string{"PATH=/bin", "REVEILLE_AUTH="})
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Addr: "127.0.0.1:3000", Data: ".reveille/reveille.db", Model: "gpt-5-mini", Steps: 1,
		Lease: 30 * time.Second, Sweep: 5 * time.Second, LogLevel: slog.LevelInfo, CacheSize: 67108864,
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadValues(t *testing.T) {
	got, err := Read([]string{
		"REVEILLE_ADDR=:8080", "REVEILLE_DATA=memory", "REVEILLE_AUTH=gateway", "REVEILLE_MODEL=m", "REVEILLE_STEPS_PER_INVOCATION=100",
		"REVEILLE_LEASE=15m", "REVEILLE_SWEEP_INTERVAL=10ms", "REVEILLE_LOG_LEVEL=warn", "REVEILLE_TABLE=t", "REVEILLE_QUEUE_URL=q",
		"REVEILLE_STREAM_URL=s", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1024", "OPENAI_API_KEY=k=k", "OPENAI_BASE_URL=b", "REVEILLE_OWN=1",
	}, "REVEILLE_OWN")
	if err != nil {
		t.Fatal(err)
	}
	want := Settings{
		Addr: ":8080", Data: "memory", Auth: "gateway", Model: "m", Steps: 100,
		Lease: 15 * time.Minute, Sweep: 10 * time.Millisecond, LogLevel: slog.LevelWarn, Table: "t", QueueURL: "q",
		StreamURL: "s", CacheSize: 268435456, OpenAIKey: "k=k", OpenAIBaseURL: "b",
	}
	if diff := cmp.Diff(want, got); diff != "" {
		t.Error(diff)
	}
}

func TestReadRefuses(t *testing.T) {
	tests := []struct{ name, pair, want string }{
		{"an unknown name", "REVEILLE_ADR=:1", "unknown environment variable REVEILLE_ADR, known are: REVEILLE_ADDR, REVEILLE_HOSTS, REVEILLE_ORIGINS, REVEILLE_DATA, REVEILLE_AUTH, REVEILLE_MODEL, " +
			"REVEILLE_STEPS_PER_INVOCATION, REVEILLE_LEASE, REVEILLE_SWEEP_INTERVAL, REVEILLE_LOG_LEVEL, REVEILLE_TABLE, REVEILLE_QUEUE_URL, REVEILLE_STREAM_URL"},
		{"an unknown way to authenticate", "REVEILLE_AUTH=open", `environment variable REVEILLE_AUTH is "open", allowed: none, gateway`},
		{"no step", "REVEILLE_STEPS_PER_INVOCATION=0", `environment variable REVEILLE_STEPS_PER_INVOCATION is "0", allowed: 1 to 100`},
		{"a step too many", "REVEILLE_STEPS_PER_INVOCATION=101", `environment variable REVEILLE_STEPS_PER_INVOCATION is "101", allowed: 1 to 100`},
		{"steps that are no number", "REVEILLE_STEPS_PER_INVOCATION=two", `environment variable REVEILLE_STEPS_PER_INVOCATION is "two", allowed: 1 to 100`},
		{"a lease too short", "REVEILLE_LEASE=999ms", `environment variable REVEILLE_LEASE is "999ms", allowed: a duration from 1s to 15m`},
		{"a lease without unit", "REVEILLE_LEASE=30", `environment variable REVEILLE_LEASE is "30", allowed: a duration from 1s to 15m`},
		{"an unknown level", "REVEILLE_LOG_LEVEL=loud", `environment variable REVEILLE_LOG_LEVEL is "loud", allowed: debug, info, warn, error`},
		{"a memory that is no number", "AWS_LAMBDA_FUNCTION_MEMORY_SIZE=1GB", `environment variable AWS_LAMBDA_FUNCTION_MEMORY_SIZE is "1GB", allowed: a number of megabytes`},
	}
	for _, test := range tests {
		t.Run(test.name, func(t *testing.T) {
			_, err := Read([]string{test.pair})
			if err == nil || err.Error() != test.want {
				t.Errorf("error %v\nwant  %s", err, test.want)
			}
		})
	}
}

func TestCacheIsAQuarterOfTheMemory(t *testing.T) {
	tests := []struct {
		megabytes string
		want      int
	}{
		{"1", 8388608},
		{"31", 8388608},
		{"32", 8388608},
		{"36", 9437184},
		{"128", 33554432},
		{"10240", 2684354560},
	}
	for _, test := range tests {
		got, err := Read([]string{"AWS_LAMBDA_FUNCTION_MEMORY_SIZE=" + test.megabytes})
		if err != nil || got.CacheSize != test.want {
			t.Errorf("of %s MB: %d bytes, error %v, want %d", test.megabytes, got.CacheSize, err, test.want)
		}
	}
}
