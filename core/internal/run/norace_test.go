//go:build !race

package run_test

// underRace says that all takes ten times as long.
const underRace = false
