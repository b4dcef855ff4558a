// Package catalog has facts about the models that providers sell: their windows, their
// inputs, how they reason and cache, and their prices, each with the day from which it
// holds and its source.
//
//	known := catalog.Default()
//	facts, seller := known.Find("openai", "gpt-4o-mini")  // facts.ContextWindow is 128000
//	money, ok := known.Cost("openai", "gpt-4o-mini", usage, time.Now())
//
// An unknown model has no price, which is not the same as a price of zero. Prices change
// and differ by contract, and new models appear: a program can read its own file over the
// built-in one, see [Catalog.With].
//
// The built-in file, catalog.json, is generated from data that others ship. Its first line
// names the day of the data and the versions; each row names its sources. Command
// scripts/verify/modelcatalog has the rules, and a test compares the file with data of a third kind.
//
// Rows of newer models have no knowledge_cutoff: the sources do not have it. Nothing in the
// runtime depends on it.
package catalog

//go:generate go run ../../../scripts/verify/modelcatalog -compare testdata
