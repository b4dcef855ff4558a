// Package protocoltest helps to test how a host treats a client that opens a
// stream and reads nothing.
package protocoltest
