package main

import (
	"bufio"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"strings"
	"time"
)

// client talks to the host.
type client struct {
	url  string
	http *http.Client
}

// newClient keeps every connection: each stream has its own.
func newClient(url string) *client {
	return &client{url: url, http: &http.Client{Transport: &http.Transport{DisableCompression: true, MaxIdleConnsPerHost: 64}}}
}

// send sends a request whose response must have the status.
func (c *client) send(ctx context.Context, status int, method, path, body string) (*http.Response, error) {
	request, err := http.NewRequestWithContext(ctx, method, c.url+path, strings.NewReader(body))
	if err != nil {
		return nil, err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := c.http.Do(request)
	if err != nil {
		return nil, err
	}
	if response.StatusCode != status {
		defer response.Body.Close()
		text, _ := io.ReadAll(io.LimitReader(response.Body, 1000))
		return nil, fmt.Errorf("%s %s: status %d, want %d: %s", method, path, response.StatusCode, status, text)
	}
	return response, nil
}

// events calls f with the JSON of each event of a stream until it ends.
func events(body io.Reader, f func(data []byte) error) error {
	lines := bufio.NewScanner(body)
	lines.Buffer(nil, 4<<20)
	for lines.Scan() {
		if data, found := strings.CutPrefix(lines.Text(), "data: "); found {
			if err := f([]byte(data)); err != nil {
				return err
			}
		}
	}
	return lines.Err()
}

// metrics are figures of the host.
type metrics struct {
	resident  float64 // bytes
	processor float64 // seconds
	streams   float64
	followers float64
}

func (c *client) metrics(ctx context.Context) (m metrics, err error) {
	response, err := c.send(ctx, http.StatusOK, http.MethodGet, "/metrics", "")
	if err != nil {
		return m, err
	}
	defer response.Body.Close()
	wanted := map[string]*float64{
		"process_resident_memory_bytes": &m.resident, "process_cpu_seconds_total": &m.processor,
		"reveille_streams_open": &m.streams, "reveille_followers": &m.followers,
	}
	found := 0
	for lines := bufio.NewScanner(response.Body); lines.Scan(); {
		name, value, _ := strings.Cut(lines.Text(), " ")
		if to := wanted[name]; to != nil {
			if *to, err = strconv.ParseFloat(value, 64); err != nil {
				return m, fmt.Errorf("metric %s: %w", name, err)
			}
			found++
		}
	}
	if found < len(wanted) {
		return m, errors.New("the host lacks a metric: on this system it does not tell its memory")
	}
	return m, nil
}

// until polls the metrics until the condition so holds.
func (c *client) until(ctx context.Context, within time.Duration, so func(metrics) bool) (metrics, error) {
	for deadline := time.Now().Add(within); ; {
		m, err := c.metrics(ctx)
		if err != nil || so(m) {
			return m, err
		}
		if time.Now().After(deadline) {
			return m, fmt.Errorf("%v streams and %v followers are open after %s", m.streams, m.followers, within)
		}
		if err := pause(ctx, 100*time.Millisecond); err != nil {
			return m, err
		}
	}
}

func pause(ctx context.Context, d time.Duration) error {
	select {
	case <-ctx.Done():
		return ctx.Err()
	case <-time.After(d):
		return nil
	}
}

// event is what load reads of one.
type event struct {
	Type        string    `json:"event_type"`
	Sequence    int       `json:"sequence"`
	Time        time.Time `json:"time"`
	Delta       string    `json:"delta"`
	Error       string    `json:"error"`
	Termination struct {
		Type string `json:"type"`
	} `json:"termination"`
}

func parse(data []byte) (e event, err error) {
	if err = json.Unmarshal(data, &e); err != nil {
		err = fmt.Errorf("an event is not JSON: %w", err)
	}
	return e, err
}

// runID is the run that the receipt of a submission names.
func runID(receipt []byte) (string, error) {
	var r struct {
		RunID string `json:"run_id"`
	}
	err := json.Unmarshal(receipt, &r)
	if err == nil && r.RunID == "" {
		err = fmt.Errorf("the receipt names no run: %s", receipt)
	}
	return r.RunID, err
}
