package protocol

import (
	"context"
	"net/http"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/host"
	"github.com/reveille-run/reveille/core/mailbox"
)

// Thread returns the thread id in the path of a request whose pattern has {thread}.
func Thread(r *http.Request) (string, error) {
	thread := r.PathValue("thread")
	return thread, core.CheckName("thread id", thread)
}

// Cancel returns the route that cancels the open run of the thread in the path, or else
// the first queued run. body makes the body of its 202. If there is no such run, or the
// thread is another user's, the route responds with 404.
func (v Server) Cancel(body func(thread string) any) Route {
	return func(w http.ResponseWriter, r *http.Request, id core.Identity) error {
		thread, err := Thread(r)
		if err != nil {
			return err
		}
		if _, err := v.Host.CancelThread(r.Context(), id, thread); err != nil {
			return Hide(err, "active run of thread", thread)
		}
		JSON(w, http.StatusAccepted, body(thread))
		return nil
	}
}

// Interrupt returns the route that ends the open run of the thread in the path and all
// runs queued after it. body makes the body of its 202. If the thread does not exist or
// is another user's, the route responds with 404.
func (v Server) Interrupt(body func(thread string, ended mailbox.Receipt) any) Route {
	return func(w http.ResponseWriter, r *http.Request, id core.Identity) error {
		thread, err := Thread(r)
		if err != nil {
			return err
		}
		ended, err := v.Host.InterruptThread(r.Context(), id, thread, "")
		if err != nil {
			return Hide(err, "active run of thread", thread)
		}
		JSON(w, http.StatusAccepted, body(thread, ended))
		return nil
	}
}

// resentTail is how many of a thread's newest messages InputRuns looks at.
const resentTail = 200

// InputRuns returns the run that stored each of the thread's newest user messages, by
// message id. Clients that send their whole history repeat messages that the thread has;
// InputRuns identifies these among the newest 200 messages. For a thread that does not
// exist the result is empty.
func (v Server) InputRuns(ctx context.Context, id core.Identity, thread string) (map[string]core.ID, error) {
	runs := map[string]core.ID{}
	page, err := v.Host.Messages(ctx, id, thread, host.MessageQuery{Newest: true, Limit: resentTail})
	switch core.CodeOf(err) {
	case "":
	case core.CodeNotFound:
		return runs, nil
	default:
		return nil, Hide(err)
	}
	for _, m := range page.Messages {
		if m.IsInput() {
			runs[m.ID] = m.RunID
		}
	}
	return runs, nil
}
