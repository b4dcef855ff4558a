// Package prices is the one table of what AWS asks for what Reveille uses: a file
// with its region, its day and its source, and a type to read it with. The cost model
// of a deployment and the cost of a run in GET /v1/usage both come from it. Correct
// prices.json when AWS changes a price, or replace it by the table of your region: the
// build embeds it.
package prices
