// Package restore puts a deployed stack back to an earlier moment: it stops the workers,
// restores the two tables into new ones, brings deleted payload objects back, has the stack
// switched to the new tables, has them checked, and starts the workers again.
//
// The old tables are not changed. Each step first looks at the account, so a restore that
// failed continues when it is run again. A file ([Restore.File]) keeps which mappings and
// schedules were on, and the reserved concurrency of each function.
package restore
