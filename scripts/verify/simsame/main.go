// Command simsame compares the simulated worlds of the working tree with those of a
// commit: whether a change of the code has changed what the runtime does. It builds
// scripts/verify/sim from both and compares the hashes of the worlds. A change that only
// moves code leaves all of them equal.
//
//	go run ./scripts/verify/simsame HEAD                          # 40 worlds, some seconds
//	go run ./scripts/verify/simsame main                          # where this branch left another
//	go run ./scripts/verify/simsame -seeds 1000 -seed0 5000 HEAD  # other worlds
//	go run ./scripts/verify/simsame -replay HEAD                  # each world's runs are also repeated from their records
//
// It fails when a world differs. Worlds also differ where core/internal/sim itself has changed, so
// that a change there is committed apart.
package main

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

func main() {
	first := flag.Int("seed0", 0, "the first world")
	worlds := flag.Int("seeds", 40, "number of worlds; 20 have one of each kind")
	replay := flag.Bool("replay", false, "replay the runs of every world, not only of some")
	day := flag.Int("day", 0, "simulate days with this number of `tenants` instead")
	flag.Usage = func() {
		fmt.Fprintln(flag.CommandLine.Output(), "usage: simsame [flags] COMMIT")
		flag.PrintDefaults()
	}
	flag.Parse()
	if flag.NArg() != 1 {
		flag.Usage()
		os.Exit(2)
	}
	options := []string{"-hash", fmt.Sprintf("-seed0=%d", *first), fmt.Sprintf("-seeds=%d", *worlds), fmt.Sprintf("-replay=%t", *replay), fmt.Sprintf("-day=%d", *day)}
	same, err := compare(flag.Arg(0), options)
	if err != nil {
		fmt.Fprintln(os.Stderr, "simsame:", err)
		os.Exit(2)
	}
	if !same {
		os.Exit(1)
	}
}

// compare runs the simulators of a commit and of the working tree, and prints each world
// in which they differ. Later changes of another branch do not count: for a commit that is
// not an ancestor of HEAD, the newest common commit is used.
func compare(commit string, options []string) (same bool, err error) {
	scratch, err := os.MkdirTemp("", "simsame")
	if err != nil {
		return false, err
	}
	defer os.RemoveAll(scratch)
	base, err := exec.Command("git", "merge-base", commit, "HEAD").Output()
	if err != nil {
		return false, fmt.Errorf("find where %s and HEAD part: %w", commit, err)
	}
	source := filepath.Join(scratch, "before")
	if err := export(string(bytes.TrimSpace(base)), source); err != nil {
		return false, err
	}
	before, err := worldsOf(source, filepath.Join(scratch, "sim-before"), options)
	if err != nil {
		return false, fmt.Errorf("%s: %w", commit, err)
	}
	after, err := worldsOf(".", filepath.Join(scratch, "sim-after"), options)
	if err != nil {
		return false, err
	}
	if len(before) != len(after) {
		return false, fmt.Errorf("%d worlds before, %d now", len(before), len(after))
	}
	differ := 0
	for i := range before {
		if before[i] != after[i] {
			differ++
			fmt.Printf("before: %s\nnow:    %s\n", before[i], after[i])
		}
	}
	fmt.Printf("worlds=%d differ=%d\n", len(before), differ)
	return differ == 0, nil
}

// export writes the files of a commit into a new folder.
func export(commit, folder string) error {
	if err := os.Mkdir(folder, 0o755); err != nil {
		return err
	}
	archive := folder + ".tar"
	if out, err := exec.Command("git", "archive", "-o", archive, commit).CombinedOutput(); err != nil {
		return fmt.Errorf("export %s: %w: %s", commit, err, bytes.TrimSpace(out))
	}
	if out, err := exec.Command("tar", "-x", "-f", archive, "-C", folder).CombinedOutput(); err != nil {
		return fmt.Errorf("export %s: %w: %s", commit, err, bytes.TrimSpace(out))
	}
	return nil
}

// worldsOf builds the simulator of a folder and returns a line for each world. Without
// paths in it, what both builds share is compiled once.
func worldsOf(folder, binary string, options []string) ([]string, error) {
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-o", binary, "./scripts/verify/sim")
	build.Dir = folder
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("build the simulator: %w: %s", err, bytes.TrimSpace(out))
	}
	run := exec.Command(binary, options...)
	run.Stderr = os.Stderr
	out, err := run.Output()
	if err != nil {
		return nil, fmt.Errorf("simulate: %w", err)
	}
	return strings.Split(strings.TrimSpace(string(out)), "\n"), nil
}
