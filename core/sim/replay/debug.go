package replay

import (
	"log/slog"
	"os"
)

var debug = os.Getenv("REPLAY_DEBUG") != ""

func logger() *slog.Logger {
	if debug {
		return slog.New(slog.NewTextHandler(os.Stdout, nil))
	}
	return slog.New(slog.DiscardHandler)
}
