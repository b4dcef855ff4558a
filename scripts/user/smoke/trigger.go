package main

import (
	"bytes"
	"context"
	"crypto/hmac"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"os"
	"strconv"
	"strings"
	"time"

	"github.com/reveille-run/reveille/adapters/identity/signature"
	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/secret"
)

// The values of -scheme, as triggers name them.
const (
	github   = "github"
	standard = "standard"
	slack    = "slack"
	generic  = "hmac"
)

// fired is the trigger to which the event is sent.
type fired struct {
	url    string // empty: none
	event  string // file of the event; empty: an object with the id of this check
	scheme string
	hmac   form   // of scheme hmac
	secret string // empty: the request is not signed
	header http.Header
}

// addHeader reads a header in the form of a request.
func (f *fired) addHeader(text string) error {
	name, value, ok := strings.Cut(text, ":")
	if name, value = strings.TrimSpace(name), strings.TrimSpace(value); !ok || name == "" || value == "" {
		return errors.New("want NAME: VALUE")
	}
	if f.header == nil {
		f.header = http.Header{}
	}
	f.header.Add(name, value)
	return nil
}

// check returns an error if the flags and the secret do not fit.
func (f fired) check() error {
	if f.url == "" {
		if f.event != "" || f.scheme != "" || f.header != nil || f.hmac.Header != "" {
			return errors.New("-event, -scheme, -hmac and -header require -trigger")
		}
		return nil
	}
	if !strings.HasPrefix(f.url, "http://") && !strings.HasPrefix(f.url, "https://") {
		return fmt.Errorf("-trigger is %q, want the address of a trigger, with http:// or https://", f.url)
	}
	switch f.scheme {
	case "":
		if f.hmac.Header != "" {
			return errors.New("-scheme hmac and -hmac require each other")
		}
		if f.secret != "" {
			return errors.New("SMOKE_TRIGGER_SECRET is set without -scheme: want github, standard, slack or hmac")
		}
		return nil
	case github, standard, slack, generic:
		if (f.scheme == generic) != (f.hmac.Header != "") {
			return errors.New("-scheme hmac and -hmac require each other")
		}
		if f.secret == "" {
			return fmt.Errorf("-scheme %s requires the variable SMOKE_TRIGGER_SECRET", f.scheme)
		}
		return nil
	}
	return fmt.Errorf("-scheme is %q, want github, standard, slack or hmac", f.scheme)
}

// checkTrigger sends the event and follows each run that it starts until the run ends or waits.
// It deletes only threads of this command: another thread may be a conversation of a user.
func (s *smoke) checkTrigger(ctx context.Context, id string) error {
	if s.trigger.url == "" {
		return skipped("-trigger is not set")
	}
	body, err := s.trigger.body(id)
	if err != nil {
		return err
	}
	r, err := http.NewRequestWithContext(ctx, http.MethodPost, s.trigger.url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	if err := s.trigger.sign(r.Header, id, body); err != nil {
		return err
	}
	response, err := s.http.Do(r)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was read
	said, err := io.ReadAll(io.LimitReader(response.Body, 1<<20))
	if err != nil {
		return err
	}
	if response.StatusCode != http.StatusAccepted {
		return fmt.Errorf("POST %s: status %d, want 202: %s", s.trigger.url, response.StatusCode, bytes.TrimSpace(said))
	}
	var accepted struct {
		Runs []struct {
			Thread    string  `json:"thread_id"`
			Run       core.ID `json:"run_id"`
			Duplicate bool    `json:"duplicate"`
		}
	}
	if err := json.Unmarshal(said, &accepted); err != nil {
		return fmt.Errorf("POST %s: %w in %s", s.trigger.url, err, said)
	}
	if len(accepted.Runs) == 0 {
		return errors.New("the event started no run: the filter of the trigger does not match; use another -event")
	}
	for _, run := range accepted.Runs {
		err := s.started(ctx, run.Run, run.Duplicate)
		if strings.HasPrefix(run.Thread, "smoke-") {
			err = errors.Join(err, s.forget(ctx, run.Thread))
		}
		if err != nil {
			return fmt.Errorf("run %s of thread %s: %w", run.Run, run.Thread, err)
		}
	}
	return nil
}

// started follows a run that the event has started.
func (s *smoke) started(ctx context.Context, id core.ID, duplicate bool) error {
	if duplicate {
		return errors.New("an earlier delivery of the same event has started this run: use an -event with another id")
	}
	run := &seen{events: []core.Event{{RunID: id}}}
	if err := s.follow(ctx, run); err != nil {
		return err
	}
	delete(s.used, id) // usage of the trigger, not of the caller
	if t := run.end().Termination; t != nil && t.Type == core.TerminationSuspended {
		return nil
	}
	return ended(run)
}

// body returns the event.
func (f fired) body(id string) ([]byte, error) {
	if f.event == "" {
		return json.Marshal(map[string]string{"smoke": id})
	}
	return os.ReadFile(f.event)
}

// sign adds the headers of the scheme: a unique id of the delivery, the time and the
// signature.
func (f fired) sign(h http.Header, id string, body []byte) error {
	maps.Copy(h, f.header)
	h.Set("Content-Type", "application/json")
	now := strconv.FormatInt(time.Now().Unix(), 10)
	switch f.scheme {
	case github:
		h.Set("X-GitHub-Delivery", id)
		h.Set("X-Hub-Signature-256", "sha256="+f.sum(body))
	case slack:
		h.Set("X-Slack-Request-Timestamp", now)
		h.Set("X-Slack-Signature", "v0="+f.sum([]byte("v0:"+now+":"), body))
	case standard:
		keys, err := signature.ReadKeys(secret.New(f.secret))
		if err != nil {
			return fmt.Errorf("SMOKE_TRIGGER_SECRET: %w", err)
		}
		keys.Sign(h, id, time.Now(), body)
	case generic:
		return f.hmac.sign(h, f.secret, id, now, body)
	}
	return nil
}

// sum returns the HMAC-SHA256 of texts in hexadecimal digits.
func (f fired) sum(texts ...[]byte) string {
	mac := hmac.New(sha256.New, []byte(f.secret))
	for _, text := range texts {
		mac.Write(text)
	}
	return hex.EncodeToString(mac.Sum(nil))
}
