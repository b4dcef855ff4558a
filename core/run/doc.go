// Package run is the step machine: one [Stepper.Step] takes a claimed run one
// step further and commits what it did.
package run
