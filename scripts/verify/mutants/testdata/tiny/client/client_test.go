package client

import "testing"

func TestCount(t *testing.T) {
	if Count(5) != 5 {
		t.Error("wrong")
	}
}
