package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/models/bedrock/profile"
	"github.com/reveille-run/reveille/core/doctor"
	"github.com/reveille-run/reveille/scripts/user/stack/restore"
)

// restorer is a [restore.Restore].
type restorer interface {
	Plan(ctx context.Context) error
	Run(ctx context.Context) error
	Old() []string
}

// restore puts the stack back to an earlier moment, after the user has typed its name.
func (s *stack) restore(arguments []string) error {
	to, err := moment(arguments[0])
	if err != nil {
		return err
	}
	if err := need("sam", "aws", "go"); err != nil {
		return err
	}
	ctx := context.Background()
	deployment, err := s.restorable()
	if err != nil {
		return err
	}
	account, err := s.account(ctx)
	if err != nil {
		return err
	}
	r := s.restoring(&restore.Restore{
		Deployment: deployment, To: to, Account: account, File: filepath.Join(".reveille", "restore-"+s.name+".json"),
		Switch: s.switchTables, Now: time.Now, Sleep: restore.Sleep, Out: s.out,
		Check: func(ctx context.Context, threads, config string) error {
			lines, err := account.Examine(ctx, threads, config, deployment.Bucket)
			if err != nil {
				return err
			}
			return s.examined(lines)
		},
	})
	if err := r.Plan(ctx); err != nil {
		return err
	}
	if typed, _ := s.line("Type the name of the stack to continue: "); typed != s.name {
		return errors.New("the name does not match: nothing was changed")
	}
	if err := r.Run(ctx); err != nil {
		return err
	}
	fmt.Fprintln(s.out, "When you do not need the old tables any more, delete them:")
	s.printDeletions(kept{tables: r.Old()})
	return nil
}

// moment reads a time with its zone, in whole seconds.
func moment(text string) (time.Time, error) {
	to, err := time.Parse(time.RFC3339, text)
	if err != nil || to.Nanosecond() != 0 {
		return to, fmt.Errorf("moment %q: want a time in whole seconds with its zone, such as 2026-11-29T10:00:00Z or 2026-11-29T11:00:00+01:00", text)
	}
	return to.UTC(), nil
}

// restorable reads the names of the stack's resources.
func (s *stack) restorable() (restore.Deployment, error) {
	d := restore.Deployment{Stack: s.name, Functions: map[string]string{}}
	known, err := s.outputs()
	if err != nil {
		return d, err
	}
	d.Threads, d.Config, d.Bucket = known["TableName"], known["ConfigTableName"], known["PayloadBucketName"]
	command := exec.Command("aws", s.located("cloudformation", "list-stack-resources", "--stack-name", s.name, "--output", "json")...)
	command.Stderr = s.log
	out, err := command.Output()
	if err != nil {
		return d, fmt.Errorf("read the resources of the stack %s: %w", s.name, err)
	}
	var response struct {
		StackResourceSummaries []struct{ LogicalResourceId, PhysicalResourceId, ResourceType string }
	}
	if err := json.Unmarshal(out, &response); err != nil {
		return d, fmt.Errorf("read the resources of the stack %s: %w", s.name, err)
	}
	for _, r := range response.StackResourceSummaries {
		switch {
		case r.ResourceType == "AWS::Lambda::Function":
			d.Functions[r.LogicalResourceId] = r.PhysicalResourceId
		case r.ResourceType == "AWS::Scheduler::Schedule" && strings.HasPrefix(r.LogicalResourceId, "SweepFunction"):
			d.Schedules = append(d.Schedules, r.PhysicalResourceId)
		}
	}
	if d.Threads == "" || d.Config == "" || d.Functions["StepFunction"] == "" || len(d.Schedules) == 0 {
		return d, fmt.Errorf("the stack %s lacks the outputs TableName and ConfigTableName, the function Step or the schedule of Sweep: check that it was deployed from this template", s.name)
	}
	return d, nil
}

// account connects to the account of the environment.
func (s *stack) account(ctx context.Context) (*restore.Account, error) {
	for name, value := range map[string]string{"AWS_PROFILE": s.env.profile, "AWS_REGION": s.env.region} {
		if value == "" {
			continue
		}
		if err := os.Setenv(name, value); err != nil {
			return nil, err
		}
	}
	found, err := profile.Load(ctx)
	if err != nil {
		return nil, err
	}
	return restore.NewAccount(found)
}

// switchTables writes the tables into samconfig.toml and deploys, all at once: with a gradual
// release, two versions would work on different tables.
func (s *stack) switchTables(_ context.Context, threads, config string) error {
	if err := s.writeParameters(map[string]string{"ThreadsTable": threads, "ConfigTable": config}); err != nil {
		return err
	}
	asks := s.yes
	defer func() { s.yes = asks }()
	s.yes = true
	if s.env.parameters["GradualReleases"] == "true" {
		fmt.Fprintln(s.out, "  this deployment is not gradual. The next one is: run make deploy after the restore")
		s.env.parameters["GradualReleases"] = "false"
		defer func() { s.env.parameters["GradualReleases"] = "true" }()
	}
	return s.deploy(nil)
}

// examined prints the results of the check. If there are problems, which the stack may have
// had at that moment, the user decides.
func (s *stack) examined(lines []doctor.Line) error {
	problems := 0
	for _, l := range lines {
		fmt.Fprintf(s.out, "  %s\n", l)
		if l.Status == doctor.Problem {
			problems++
		}
	}
	if problems == 0 {
		return nil
	}
	typed, _ := s.line(fmt.Sprintf("The check has found %d problems. Start the functions nevertheless? [y/N] ", problems))
	if !strings.EqualFold(typed, "y") && !strings.EqualFold(typed, "yes") {
		return fmt.Errorf("%d problems in the restored tables", problems)
	}
	return nil
}
