package bolt_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"path/filepath"

	"github.com/reveille-run/reveille/adapters/stores/bolt"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

func ExampleOpen() {
	folder, err := os.MkdirTemp("", "reveille")
	if err != nil {
		log.Fatal(err)
	}
	defer os.RemoveAll(folder)

	s, err := bolt.Open(filepath.Join(folder, ".reveille", "reveille.db"), bolt.Options{})
	if err != nil {
		log.Fatal(err) // bolt.ErrLocked: another process has it open
	}
	defer s.Close()

	ctx, key := context.Background(), core.ThreadKey{Tenant: "acme", Thread: "t1"}
	out, err := s.Commit(ctx, key, store.Commit{Head: store.Head{Version: 1, Seq: 3}})
	fmt.Println(out.Written, err)
	head, err := s.Head(ctx, key)
	fmt.Println(head.Version, head.Seq, err)
	// Output:
	// true <nil>
	// 1 3 <nil>
}
