// Package cost converts the measured work of a deployment to money: figures of work, the prices
// of AWS, and the tables of infra/cost.md. A test of the built functions measures the figures
// and writes them to infra/cost.json. This package measures nothing. It only assumes how long
// models and tools take.
package cost
