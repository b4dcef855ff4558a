package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strconv"
	"strings"
)

// built is the folder to which `sam build` writes.
var built = filepath.Join(".aws-sam", "build")

// release is the digest of the build and of the parameters, 64 hex digits. Equal builds and
// parameters give equal digests, on any machine. It is computed before writeComputed.
func release(parameters string) (string, error) {
	digest := sha256.New()
	err := filepath.WalkDir(built, func(name string, e fs.DirEntry, err error) error { // in the order of names
		if err != nil || !e.Type().IsRegular() {
			return err
		}
		inner, err := fileDigest(name)
		if err != nil {
			return err
		}
		within, err := filepath.Rel(built, name)
		if err == nil {
			_, err = fmt.Fprintf(digest, "%q %x\n", filepath.ToSlash(within), inner)
		}
		return err
	})
	if err != nil {
		return "", fmt.Errorf("read the output of sam build: %w", err)
	}
	fmt.Fprintf(digest, "%q\n", parameters)
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// fileDigest reads a file in pieces, since binaries are large.
func fileDigest(name string) ([]byte, error) {
	file, err := os.Open(name)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	digest := sha256.New()
	_, err = io.Copy(digest, file)
	return digest.Sum(nil), err
}

// schema is about stored records: the highest schema that code of this stack has written or
// writes now, and whether it is new.
type schema struct {
	highest int
	raised  bool
}

// schemaAfter compares the code with the records that earlier releases wrote. A stack without
// the output is older than it, or does not exist: it wrote schema 1.
func (s *stack) schemaAfter(outputs outputs) (schema, error) {
	before := 1
	if said := outputs["Schema"]; said != "" {
		n, err := strconv.ParseUint(said, 10, 16)
		if err != nil || n == 0 {
			return schema{}, fmt.Errorf("output Schema of the stack %s is %q, want a number of at least 1: check that the stack was deployed from this template", s.name, said)
		}
		before = int(n)
	}
	if before > int(s.code.Reads) {
		return schema{}, fmt.Errorf("nothing was deployed: the stack %s has written records of schema %d, and this code reads up to schema %d. "+
			"It could not work on these threads. Deploy a release that reads schema %d: the earliest is the one before the first release that wrote it", s.name, before, s.code.Reads, before)
	}
	writes := int(s.code.Writes)
	return schema{max(before, writes), writes > before}, nil
}

// refused are options of `sam deploy` that would deploy something else than this command
// has read, with the remedy.
var refused = map[string]string{
	"--parameter-overrides": "change parameter_overrides in " + samconfig,
	"--guided":              "change parameter_overrides in " + samconfig,
	"-g":                    "change parameter_overrides in " + samconfig,
	"--stack-name":          "put -stack NAME before deploy",
	"--config-env":          "put -env NAME before deploy, or use make deploy ENV=NAME",
	"--config-file":         "the command reads the environments from " + samconfig,
	"--region":              "change region in " + samconfig,
	"--profile":             "change profile in " + samconfig + ", or set AWS_PROFILE",
	"--template-file":       "the command always builds template.yaml",
	"--template":            "the command always builds template.yaml",
	"-t":                    "the command always builds template.yaml",
}

// checkOptions refuses options whose values this command reads from samconfig.toml.
func checkOptions(options []string) error {
	for _, o := range options {
		name, _, _ := strings.Cut(o, "=")
		if instead := refused[name]; instead != "" {
			return fmt.Errorf("option %s is not allowed: %s", name, instead)
		}
	}
	return nil
}
