// Package simtest (being written).
package simtest
