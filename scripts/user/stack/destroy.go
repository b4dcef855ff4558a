package main

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
)

// kept are the resources that the template retains when its stack is deleted. Queues and logs
// are deleted with the stack.
type kept struct {
	tables, buckets []string
	parameters      string // with which a new stack uses them
}

// reuse has the parameter of each output.
var reuse = map[string]string{"TableName": "ThreadsTable", "ConfigTableName": "ConfigTable", "PayloadBucketName": "PayloadBucket"}

// kept reads the names from the stack's outputs.
func (s *stack) kept() (kept, error) {
	known, err := s.outputs()
	if err != nil {
		return kept{}, err
	}
	var k kept
	var parameters []string
	for _, key := range slices.Sorted(maps.Keys(known)) {
		if name := reuse[key]; name != "" && known[key] != "" {
			parameters = append(parameters, name+"="+known[key])
		}
		switch {
		case strings.HasSuffix(key, "TableName"):
			k.tables = append(k.tables, known[key])
		case strings.HasSuffix(key, "BucketName"):
			k.buckets = append(k.buckets, known[key])
		}
	}
	if len(k.tables) == 0 {
		return kept{}, fmt.Errorf("the stack %s has no output that names a table: check that it was deployed from this template", s.name)
	}
	k.parameters = strings.Join(parameters, " ")
	return k, nil
}

func (k kept) String() string {
	text := "the tables " + strings.Join(k.tables, " and ")
	if len(k.buckets) > 0 {
		text += " and the bucket " + strings.Join(k.buckets, " and ")
	}
	return text
}

// destroy deletes the stack. The template retains its tables and its bucket, unless the user
// deletes them too.
func (s *stack) destroy([]string) error {
	if err := need("sam", "aws"); err != nil {
		return err
	}
	k, err := s.kept()
	if err != nil {
		return err
	}
	if s.data {
		return s.destroyData(k)
	}
	if err := s.call("sam", s.sam("delete")...); err != nil {
		return err
	}
	fmt.Fprintf(s.out, "The data stays in %s, and you continue to pay for its storage. To use it in a new stack, set %s. To delete it, run:\n", k, k.parameters)
	s.printDeletions(k)
	return nil
}

// printDeletions prints the commands that delete resources.
func (s *stack) printDeletions(k kept) {
	for _, d := range s.deletions(k) {
		for _, command := range d.commands {
			fmt.Fprintln(s.out, "  "+strings.Join(command, " "))
		}
		if d.bucket != "" {
			fmt.Fprintf(s.out, "  make purge ENV=%s BUCKET=%s\n", s.env.name, d.bucket)
		}
	}
}

// destroyData deletes the stack, the tables and the bucket after the user has typed its name.
func (s *stack) destroyData(k kept) error {
	typed, _ := s.line(fmt.Sprintf("This deletes the stack %s and all of its data, in %s. Type the name of the stack to continue: ", s.name, k))
	if typed != s.name {
		return errors.New("the name does not match: nothing was deleted")
	}
	if err := s.call("sam", s.sam("delete", "--no-prompts")...); err != nil {
		return err
	}
	var failures []error
	for _, d := range s.deletions(k) { // if one deletion fails, the others still follow
		for _, command := range d.commands {
			if err := s.call(command[0], command[1:]...); err != nil {
				failures = append(failures, fmt.Errorf("%s was not deleted: %w", d.what, err))
				break
			}
		}
		if d.bucket == "" {
			continue
		}
		if err := s.purges(d.bucket); err != nil {
			failures = append(failures, fmt.Errorf("%s was not deleted: %w", d.what, err))
		}
	}
	return errors.Join(failures...)
}

// deletion has the commands that delete one of the retained resources.
type deletion struct {
	what     string
	commands [][]string
	bucket   string // to purge; empty: none
}

// deletions are in the order of their execution. A table is protected against deletion. A
// bucket must be empty, and no command of the AWS CLI deletes versions of objects.
func (s *stack) deletions(k kept) (all []deletion) {
	aws := func(arguments ...string) []string { return append([]string{"aws"}, s.located(arguments...)...) }
	for _, table := range k.tables {
		all = append(all, deletion{what: "table " + table, commands: [][]string{
			aws("dynamodb", "update-table", "--table-name", table, "--no-deletion-protection-enabled"),
			aws("dynamodb", "wait", "table-exists", "--table-name", table),
			aws("dynamodb", "delete-table", "--table-name", table),
		}})
	}
	for _, bucket := range k.buckets {
		all = append(all, deletion{what: "bucket " + bucket, bucket: bucket})
	}
	return all
}
