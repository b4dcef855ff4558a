package main

import (
	"os"
	"strings"
	"testing"
)

// Benchmarks collect as seldom as functions do.
func TestThePercentageIsThatOfFunctions(t *testing.T) {
	source, err := os.ReadFile("../../../functions/kit/internal/cloud/memory.go")
	if err != nil {
		t.Fatal(err)
	}
	if want := "const gcPercent = " + functionsGC + "\n"; !strings.Contains(string(source), want) {
		t.Errorf("package cloud does not say %q", want)
	}
}
