// Package catalog says what is known of the models that providers sell: today their
// prices, each with the day from which it holds and its source.
//
//	known := catalog.Default()
//	price, ok := known.Price("gpt-4o-mini", time.Now())
//	money := price.Cost(usage)
//
// What it does not know has no price, which is not the same as a price of zero. Prices
// change and differ by contract: a program reads a file of its own over the built-in
// one, see [Catalog.With].
package catalog
