// Package house holds the rules of the layout as tests: which package may import which,
// what the core must not touch, how large things may grow.
//
// The structure of core is measured, too: what a type can reach, what it embeds, which
// files use each other, which references go up between the units of core/internal/run
// (testdata/units.txt), how much is commented. Each figure has a goal. Where it is not
// reached, testdata/ceilings.txt holds the present number, which may only come nearer to
// the goal; after a change for the better,
//
//	go test ./scripts/verify/house -run Structure -update
//
// writes the new one. Samples of Go in doc comments compile: testdata/samples.txt
// declares what they name of the reader's own. All figures: go test ./scripts/verify/house -run Figures -v
package house
