package main

import (
	"bytes"
	"fmt"
	"io"
	"os/exec"
	"path/filepath"
)

// profiles lists where the benchmarks of the core spend time and make objects and bytes.
func profiles(out io.Writer, folder string) error {
	at := func(name string) string { return filepath.Join(folder, name) }
	test := exec.Command("go", "test", "-run", "^$", "-bench", "^Benchmark(TwoStep|InterruptResume)", "-cpu", "2",
		"-cpuprofile", at("cpu"), "-memprofile", at("memory"), "-o", at("run.test"), "./"+coreFolder)
	if text, err := test.CombinedOutput(); err != nil {
		return fmt.Errorf("go test: %w\n%s", err, text)
	}
	for _, profile := range []struct{ title, file, index string }{
		{"where time goes", "cpu", "cpu"}, {"where objects are made", "memory", "alloc_objects"}, {"where bytes are made", "memory", "alloc_space"},
	} {
		top, err := exec.Command("go", "tool", "pprof", "-top", "-nodecount", "12", "-sample_index", profile.index, at("run.test"), at(profile.file)).Output()
		if err != nil {
			return fmt.Errorf("go tool pprof: %w", err)
		}
		_, lines, _ := bytes.Cut(top, []byte("\n      flat"))
		_, _ = fmt.Fprintf(out, "%s:\n      flat%s\n", profile.title, lines)
	}
	return nil
}
