// Package cost turns what was measured of a deployment into money: figures of work,
// the prices of AWS, and the tables of infra/cost.md. The figures come from the test
// that measures the built functions; they stand in infra/cost.json, so that anybody can
// compare. Nothing here is measured, and only waits for models, tools and people are
// assumed.
package cost
