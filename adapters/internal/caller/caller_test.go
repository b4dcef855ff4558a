package caller

import (
	"context"
	"testing"
)

func TestTheContextCarriesTheCaller(t *testing.T) {
	if got := From(context.Background()); got != nil {
		t.Errorf("caller %v of a request of nobody", got)
	}
	want := Signer{ID: "AIDA1"}
	if got := From(With(context.Background(), want)); got != Caller(want) {
		t.Errorf("caller %v", got)
	}
}
