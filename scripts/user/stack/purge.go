package main

import (
	"context"
	"errors"
	"fmt"
)

// purge deletes a bucket with all versions of its objects, after the user has typed its name.
// It is for a bucket that a deleted stack has left.
func (s *stack) purge(arguments []string) error {
	bucket := arguments[0]
	typed, _ := s.line(fmt.Sprintf("This deletes the bucket %s with all versions of its objects. Type the name of the bucket to continue: ", bucket))
	if typed != bucket {
		return errors.New("the name does not match: nothing was deleted")
	}
	return s.purges(bucket)
}

func (s *stack) purgeBucket(bucket string) error {
	ctx := context.Background()
	account, err := s.account(ctx)
	if err != nil {
		return err
	}
	return account.Purge(ctx, bucket)
}
