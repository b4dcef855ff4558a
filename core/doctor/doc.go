// Package doctor examines the stored threads of a deployment, or of the file of a local
// host, for an operator. [Examine] returns one [Line] for each check: its status, how many
// threads or tenants it concerns, examples and a remedy. It reads only, so that it can run
// while workers do.
//
// By default it reads the heads of all threads that are due, now or later, and of those
// that were active in the last 24 hours. With [Options.All] it reads every thread with its
// log.
package doctor
