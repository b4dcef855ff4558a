// Package prices has the prices of the AWS services that Reveille uses: one file, with
// its region, date and source, and a type to read it. The cost model of a deployment and
// the cost of a run in GET /v1/usage both use it. If AWS changes a price, correct
// prices.json; for another region, replace the file. The build embeds it.
package prices
