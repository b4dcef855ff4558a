//go:build race

package window_test

// underRace says that all takes ten times as long.
const underRace = true
