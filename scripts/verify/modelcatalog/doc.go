// Command modelcatalog writes core/model/catalog/catalog.json from the data that two packages
// ship: the Go module charm.land/catwalk and the Python package litellm.
//
//	go generate ./core/model/catalog                 # both, at the versions of sources.go
//	go run ./scripts/verify/modelcatalog -compare DIR      # also writes the data that the tests compare with
//
// To update the catalog, set versions and day in sources.go and
// scripts/verify/requirements-models.txt, run both commands, and read the differences. If a
// source is wrong, add a line to corrections.go.
//
// The rules:
//
//   - A row has the names of one model of one seller: aliases and dated names share a row if
//     all their facts are the same.
//   - If the sources disagree, the higher price counts, and the smaller window.
//   - A changed price counts from the day of the sources on. The earlier price stays, for
//     earlier days. The sources have no history: the first price of a model has no day.
//   - A model that both sources have dropped stays, as retired. A model that was retired more
//     than a year ago is dropped.
//   - The sources have no knowledge cutoff: what the file has of it stays.
//   - The successor of a retired model is the one that litellm names, else the newest model of
//     the same seller whose name has the same words, else none.
package main
