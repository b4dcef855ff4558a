package main

import (
	"bytes"
	"testing"

	"github.com/google/go-cmp/cmp"
)

func TestReportHasTheBestOfEachBesideItsLimit(t *testing.T) {
	const text = `goos: linux
BenchmarkTwoStep-2           	    5425	    120000 ns/op	   64595 B/op	     394 allocs/op
BenchmarkTwoStep-2           	    5425	     90500 ns/op	   64590 B/op	     393 allocs/op
BenchmarkTwoStepBare-2       	    5425	     80000 ns/op	   30000 B/op	     287 allocs/op
BenchmarkInterruptResume/history-100-2     	    5425	     300000 ns/op	   80000 B/op	     600 allocs/op
BenchmarkInterruptResume/history-1000-2    	    5425	     500000 ns/op	   90000 B/op	     601 allocs/op
PASS
`
	var out bytes.Buffer
	if err := report(&out, []byte(text)); err != nil {
		t.Fatal(err)
	}
	want := `best of 10                               us     wanted      bytes    objects
TwoStep                                90.5        100      64590        393
TwoStepBare                            80.0          -      30000        287
InterruptResume/history-100           300.0        400      80000        600
InterruptResume/history-1000          500.0        600      90000        601
`
	if diff := cmp.Diff(want, out.String()); diff != "" {
		t.Errorf("(-want +got):\n%s", diff)
	}
}

func TestReportRefusesWhatHasNoBenchmark(t *testing.T) {
	for _, text := range []string{"", "PASS\n", "BenchmarkTwoStep-2 1 x ns/op 1 B/op 1 allocs/op\n"} {
		if err := report(&bytes.Buffer{}, []byte(text)); err == nil {
			t.Errorf("%q passes", text)
		}
	}
}
