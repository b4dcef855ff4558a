// Package providers makes the providers of models, one file each. Only what runs steps
// links it.
package providers
