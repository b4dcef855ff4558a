package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"time"
)

func main() {
	limit := flag.Int("age", 0, "write nothing: report whether the catalog is older than so many `DAYS`")
	strict := flag.Bool("strict", false, "with -age: an old catalog is an error")
	compare := flag.String("compare", "", "also write the data of the tests to `DIR`/third.json; needs python3")
	flag.Parse()
	var err error
	if *limit > 0 {
		err = report(*limit, *strict)
	} else {
		err = generate(*compare)
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "modelcatalog:", err)
		os.Exit(1)
	}
}

// report prints a warning, or returns an error, if the catalog is older than so many days.
func report(limit int, strict bool) error {
	root, err := repository()
	if err != nil {
		return err
	}
	content, err := os.ReadFile(filepath.Join(root, "core/model/catalog/catalog.json"))
	if err != nil {
		return err
	}
	warning, err := old(content, limit, time.Now())
	switch {
	case err != nil || warning == "":
		return err
	case strict:
		return errors.New(warning)
	}
	fmt.Println("WARNING:", warning)
	return nil
}

// generate writes the catalog, and the data of its test to a folder that is named.
func generate(compare string) error {
	root, err := repository()
	if err != nil {
		return err
	}
	path := filepath.Join(root, "core/model/catalog/catalog.json")
	before, err := read(path)
	if err != nil {
		return err
	}
	first, err := catwalkRows()
	if err != nil {
		return err
	}
	second, err := litellmRows(root)
	if err != nil {
		return err
	}
	rows := newMerge(first, second, before).rows()
	if err := write(path, rows); err != nil {
		return err
	}
	fmt.Printf("%s: %d models\n", path, len(rows))
	if compare == "" {
		return nil
	}
	return third(root, filepath.Join(compare, "third.json"))
}

// repository is the root of the repository, from any folder in it.
func repository() (string, error) {
	folder, err := os.Getwd()
	if err != nil {
		return "", err
	}
	for ; folder != filepath.Dir(folder); folder = filepath.Dir(folder) {
		if _, err := os.Stat(filepath.Join(folder, "go.mod")); err == nil {
			return folder, nil
		}
	}
	return "", fmt.Errorf("the working directory is in no module: go.mod is missing")
}
