// Package run is the step machine: one [Stepper.Step] takes a claimed run one
// step further and commits what it did.
//
// A step is an inference and its tool round. It has two commits: A makes the
// model's turn visible before any of its calls runs, B moves the head over the
// results and hands the run on. In between, each result is stored at a sequence
// that A reserved, so that whoever takes the run over adopts what is there and
// runs only the rest; stop policies and gates are asked again and answer the
// same.
//
// What goes wrong ends in one of four ways. A lost claim is store.ErrFenced:
// stop. A run that was ended from outside is closed: every open call gets a
// result. What no second try can mend (a refused request, a fatal tool, an
// agent that is gone) ends the run with an error. Everything else is given back
// with a growing pause, five times at most, or at once when only the time was
// over.
package run
