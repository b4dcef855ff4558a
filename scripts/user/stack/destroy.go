package main

import (
	"bufio"
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kept is what the template retains when its stack is deleted: nothing else stays, since
// queues and logs go with it.
type kept struct{ tables, buckets []string }

// kept reads the names from the stack's outputs.
func (s *stack) kept() (kept, error) {
	known, err := s.outputs()
	if err != nil {
		return kept{}, err
	}
	var k kept
	for _, key := range slices.Sorted(maps.Keys(known)) {
		switch {
		case strings.HasSuffix(key, "TableName"):
			k.tables = append(k.tables, known[key])
		case strings.HasSuffix(key, "BucketName"):
			k.buckets = append(k.buckets, known[key])
		}
	}
	if len(k.tables) == 0 {
		return kept{}, fmt.Errorf("the stack %s has no output that names a table: is it one of this template?", s.name)
	}
	return k, nil
}

func (k kept) String() string {
	text := "the tables " + strings.Join(k.tables, " and ")
	if len(k.buckets) > 0 {
		text += " and the bucket " + strings.Join(k.buckets, " and ")
	}
	return text
}

// destroy deletes the stack. Its tables and its bucket are no part of that: the
// template retains them.
func (s *stack) destroy() error {
	if err := s.deployed(); err != nil {
		return err
	}
	if s.data {
		if err := need("aws"); err != nil {
			return err
		}
	}
	k, err := s.kept()
	if err != nil {
		return err
	}
	if s.data {
		return s.destroyData(k)
	}
	if err := s.call("sam", s.located("delete", "--stack-name", s.name)...); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "What was said is kept in %s, which go on costing their storage. To delete them too:\n", k)
	for _, d := range s.deletions(k) {
		for _, command := range d.commands {
			fmt.Fprintln(s.out, "  "+strings.Join(command, " "))
		}
	}
	return nil
}

// destroyData deletes the stack, the tables and the bucket, once its name was typed.
func (s *stack) destroyData(k kept) error {
	fmt.Fprintf(s.out, "This deletes the stack %s and all that was ever said, in %s. Type the stack's name to go on: ", s.name, k)
	typed, _ := bufio.NewReader(s.in).ReadString('\n') // what was typed counts, also without a line end
	if strings.TrimSpace(typed) != s.name {
		return errors.New("that is not its name: nothing was deleted")
	}
	if err := s.call("sam", s.located("delete", "--stack-name", s.name, "--no-prompts")...); err != nil {
		return err
	}
	var failures []error
	for _, d := range s.deletions(k) { // one that cannot be deleted does not keep the others
		for _, command := range d.commands {
			if err := s.call(command[0], command[1:]...); err != nil {
				failures = append(failures, fmt.Errorf("%s is kept: %w", d.what, err))
				break
			}
		}
	}
	return errors.Join(failures...)
}

// deletion is how one of the things that are kept is deleted.
type deletion struct {
	what     string
	commands [][]string
}

// deletions are in the order in which they are made. A table is protected against its
// deletion, and a bucket must be empty, which --force makes it.
func (s *stack) deletions(k kept) (all []deletion) {
	aws := func(arguments ...string) []string { return append([]string{"aws"}, s.located(arguments...)...) }
	for _, table := range k.tables {
		all = append(all, deletion{"table " + table, [][]string{
			aws("dynamodb", "update-table", "--table-name", table, "--no-deletion-protection-enabled"),
			aws("dynamodb", "wait", "table-exists", "--table-name", table),
			aws("dynamodb", "delete-table", "--table-name", table),
		}})
	}
	for _, bucket := range k.buckets {
		all = append(all, deletion{"bucket " + bucket, [][]string{aws("s3", "rb", "s3://"+bucket, "--force")}})
	}
	return all
}
