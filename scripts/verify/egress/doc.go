// Package egress attacks everything that sends requests to a configured address: each
// provider of models, webhooks and the keys of an issuer. The cases are one table, which
// each of them passes.
package egress
