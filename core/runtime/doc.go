// Package runtime wires the core together: most programs build one [Runtime]
// and hand it to the handlers of the adapters.
package runtime
