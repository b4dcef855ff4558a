// Package calendar has the days and hours by which the use of tenants is counted, in UTC.
package calendar

// HourMillis is the length of an hour in milliseconds.
const HourMillis = 3_600_000

const dayMillis = 24 * HourMillis

// Hour returns the hour of a time in unix milliseconds: hours since 1970.
func Hour(millis int64) int64 { return millis / HourMillis }

// Day returns the day of a time in unix milliseconds: days since 1970.
func Day(millis int64) int64 { return millis / dayMillis }

// DayEnds returns when a day ends, unix milliseconds.
func DayEnds(day int64) int64 { return (day + 1) * dayMillis }
