// Package house holds the rules of the layout as tests: who may import whom,
// what the core must not touch, how large things may grow.
package house
