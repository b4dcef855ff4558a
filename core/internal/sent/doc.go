// Package sent keeps the requests that models received, and makes them again from the
// stored records: the log, the window of the turn, and the records that the turn names. It
// needs neither the agent nor its plugins, and shows the words of the build that sent them.
package sent
