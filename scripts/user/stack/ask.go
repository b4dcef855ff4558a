package main

import (
	"bufio"
	"errors"
	"fmt"
	"strings"
)

// confirm asks whether to deploy, unless the SAM CLI will ask.
func (s *stack) confirm(asks bool) error {
	if s.yes {
		return nil
	}
	if !s.terminal {
		return errors.New("nothing was deployed: there is no terminal that could confirm it. Read the changes above, then repeat the command with -yes (make deploy CONFIRM=yes)")
	}
	if asks {
		return nil
	}
	typed, err := s.line(fmt.Sprintf("Deploy to the stack %s? [y/N] ", s.name))
	if err != nil || !strings.EqualFold(typed, "y") && !strings.EqualFold(typed, "yes") {
		return errors.New("nothing was deployed: the answer was not y")
	}
	return nil
}

// line asks and returns the answer.
func (s *stack) line(question string) (string, error) {
	fmt.Fprint(s.out, question)
	if s.answers == nil {
		s.answers = bufio.NewReader(s.in)
	}
	typed, err := s.answers.ReadString('\n')
	if typed != "" { // the last line may lack its end
		err = nil
	}
	return strings.TrimSpace(typed), err
}
