package main

import (
	"fmt"
	"regexp"
	"time"
)

// dayOf finds the day of a catalog in its first line.
var dayOf = regexp.MustCompile(`^\{"day":"(\d{4}-\d{2}-\d{2})"`)

// age returns how old a catalog is, in whole days.
func age(catalog []byte, now time.Time) (days int, err error) {
	found := dayOf.FindSubmatch(catalog)
	if found == nil {
		return 0, fmt.Errorf("the catalog does not begin with its day")
	}
	made, err := time.Parse(time.DateOnly, string(found[1]))
	return int(now.Sub(made) / (24 * time.Hour)), err
}

// old describes a catalog that is older than so many days; empty: it is not.
func old(catalog []byte, limit int, now time.Time) (string, error) {
	days, err := age(catalog, now)
	if err != nil || days <= limit {
		return "", err
	}
	return fmt.Sprintf("core/model/catalog/catalog.json is %d days old, more than %d: set new versions in scripts/verify/modelcatalog/sources.go and run go generate ./core/model/catalog", days, limit), nil
}
