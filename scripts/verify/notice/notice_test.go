package main

import (
	"bytes"
	"os"
	"strings"
	"testing"
)

func TestTheNoticeIsCurrent(t *testing.T) {
	want, err := notice("../../..")
	if err != nil {
		t.Fatal(err)
	}
	got, err := os.ReadFile("../../../adapters/protocols/page/NOTICE")
	if err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(got, want) {
		t.Error("adapters/protocols/page/NOTICE is not what the dependencies ask for: run make notice")
	}
	for _, part := range []string{"\nnpm: preact\n", "\nnpm: marked\n", "\ngo.etcd.io/bbolt v", "\ngithub.com/aws/aws-sdk-go-v2 v", "The Go standard library", "Apache License", "WITHOUT WARRANTY OF ANY KIND"} {
		if !strings.Contains(string(got), part) {
			t.Errorf("%q is not in it", part)
		}
	}
}

func TestAFolderWithoutALicenceIsAnError(t *testing.T) {
	if _, err := licences(t.TempDir()); err == nil {
		t.Error("it has none")
	}
}
