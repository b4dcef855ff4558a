// Package recorded checks that the adapters of model providers read real streams as the
// providers' npm packages do. Its tests have everything; README.md describes the transcripts.
package recorded
