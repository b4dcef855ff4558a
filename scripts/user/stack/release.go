package main

import (
	"crypto/sha256"
	"encoding/hex"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
)

// built is where `sam build` leaves what is deployed.
var built = filepath.Join(".aws-sam", "build")

// release is the digest of what was built and of what it is deployed with, 64 hex
// digits: the same for the same, whenever and wherever it was built.
func release(with ...string) (string, error) {
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
		return "", fmt.Errorf("what sam build has made: %w", err)
	}
	for _, text := range with {
		fmt.Fprintf(digest, "%q\n", text)
	}
	return hex.EncodeToString(digest.Sum(nil)), nil
}

// fileDigest reads a file piece by piece: a function is as large as it is.
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

// schema is what a deployment is told of the records that are stored: the highest schema
// that code deployed here has written or writes now, and whether that is new.
type schema struct {
	highest int
	raised  bool
}

// schemaAfter holds the code against what was written by those before it. A stack that
// does not say is older than the parameter, or is not there: it wrote schema 1.
func (s *stack) schemaAfter(outputs outputs) (schema, error) {
	before := 1
	if said := outputs["Schema"]; said != "" {
		n, err := strconv.ParseUint(said, 10, 16)
		if err != nil || n == 0 {
			return schema{}, fmt.Errorf("output Schema of the stack %s is %q, want a number from 1 on: is it one of this template?", s.name, said)
		}
		before = int(n)
	}
	if before > int(s.code.Reads) {
		return schema{}, fmt.Errorf("nothing was deployed: the stack %s has written records of schema %d, and this code reads up to schema %d: "+
			"it would leave every such thread alone. Deploy a release that reads schema %d; the one before the first that wrote it does", s.name, before, s.code.Reads, before)
	}
	writes := int(s.code.Writes)
	return schema{max(before, writes), writes > before}, nil
}

// computed are the parameters that nobody types.
func computed(release string, to schema) string {
	return fmt.Sprintf(`Release="%s" Schema="%d" SchemaRaised="%t"`, release, to.highest, to.raised)
}

// refused are options of `sam deploy` that would part what is deployed from what this
// command reads, with what to do instead.
var refused = map[string]string{
	"--parameter-overrides": "change parameter_overrides in " + samconfig + ", or pass --guided",
	"--stack-name":          "name the stack by -stack, before deploy",
	"--config-env":          "other environments have a folder, or a stack by -stack, of their own",
	"--config-file":         "the parameters are read from " + samconfig,
	"--region":              "change region in " + samconfig + ", or pass --guided",
	"--profile":             "change profile in " + samconfig + ", or set AWS_PROFILE",
	"--template-file":       "what is built is template.yaml",
	"--template":            "what is built is template.yaml",
	"-t":                    "what is built is template.yaml",
}

// checkOptions refuses options that are read from elsewhere.
func checkOptions(options []string) error {
	for _, o := range options {
		name, _, _ := strings.Cut(o, "=")
		if instead := refused[name]; instead != "" {
			return fmt.Errorf("deploy does not pass on %s: %s", name, instead)
		}
	}
	return nil
}

// guides reports whether the parameters will be asked for, so that nobody knows them yet.
func guides(options []string) bool {
	return slices.Contains(options, "--guided") || slices.Contains(options, "-g")
}
