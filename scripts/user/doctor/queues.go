package main

import (
	"context"
	"fmt"
	"math"
	"net/http"
	"slices"
	"strconv"
	"time"

	"github.com/aws/aws-lambda-go/events"

	"github.com/reveille-run/reveille/adapters/queues/sqs"
	"github.com/reveille-run/reveille/core/doctor"
)

// The checks of queues.
const (
	queueCheck      = "wake-ups"
	deadLetterCheck = "dead-wake-ups"
	parkedCheck     = "parked-events"
	clockCheck      = "clock"
)

// Messages that wait in the queue of wake-ups from which on it is behind.
const (
	warnWaiting    = 10
	problemWaiting = 100
)

// deadLetterAge is how old a dead wake-up may be: the sweep reads the queue each minute.
const deadLetterAge = 10 * time.Minute

// queueLines returns the results of the queues, in the order of their checks.
func (t *target) queueLines(ctx context.Context) (lines []doctor.Line) {
	for _, q := range t.queues {
		depth, err := q.queue.Depth(ctx)
		var oldest time.Duration
		if err == nil && q.check != queueCheck && depth.Waiting > 0 {
			oldest, err = age(ctx, q.queue, time.Now())
		}
		if err != nil {
			lines = append(lines, doctor.Line{
				Check: q.check, Status: doctor.Problem, Count: 1, Text: "the queue cannot be read: " + err.Error(),
				Remedy: "check network, credentials and the address of the queue, and run the doctor again",
			})
			continue
		}
		lines = append(lines, queueLine(q.check, depth, oldest))
	}
	return lines
}

// queueLine returns the result of a queue. oldest is the age of the oldest message that was
// seen, of queues of dead letters.
func queueLine(check string, d sqs.Depth, oldest time.Duration) doctor.Line {
	l := doctor.Line{Check: check, Status: doctor.OK, Text: fmt.Sprintf("messages wait, %d are in flight, %d are delayed", d.InFlight, d.Delayed)}
	l.Count = d.Waiting
	switch {
	case check == queueCheck:
		if d.Waiting >= problemWaiting {
			l.Status = doctor.Problem
		} else if d.Waiting >= warnWaiting {
			l.Status = doctor.Warn
		}
		if l.Status != doctor.OK {
			l.Remedy = "check throttles and errors of Step, and raise StepConcurrency; the alarm LateWakeUps has the age of the oldest message"
		}
		return l
	case d.Waiting == 0 && d.InFlight == 0:
		return l
	case check == deadLetterCheck:
		l.Status, l.Remedy = doctor.Warn, "none yet: Sweep sends them again each minute"
		if oldest > deadLetterAge {
			l.Status, l.Remedy = doctor.Problem, "look for \"dead letter not handled\" in the log of Sweep, and check that it runs each minute"
		}
	default:
		l.Count = d.Waiting + d.InFlight
		l.Status, l.Remedy = doctor.Problem, "fix what made the events fail (log of Trigger), then run doctor replay-events"
	}
	l.Text += ", the oldest is " + oldest.Round(time.Second).String() + " old"
	return l
}

// age returns the age of the oldest of at most ten messages. It hides them for a moment
// only.
func age(ctx context.Context, q *sqs.Queue, now time.Time) (time.Duration, error) {
	messages, err := q.Receive(ctx, 10, 0)
	if err != nil {
		return 0, err
	}
	for _, m := range messages {
		if err := q.ChangeVisibility(ctx, m.ReceiptHandle, 0); err != nil {
			return 0, err
		}
	}
	ages := []time.Duration{0}
	for _, m := range messages {
		ages = append(ages, now.Sub(sentAt(m)))
	}
	return slices.Max(ages), nil
}

// sentAt is when a message was sent.
func sentAt(m events.SQSMessage) time.Time {
	ms, err := strconv.ParseInt(m.Attributes["SentTimestamp"], 10, 64)
	if err != nil {
		ms = math.MaxInt32 * 1000 // unknown: it is not old
	}
	return time.UnixMilli(ms)
}

// Differences of clocks. Leases last 30 seconds.
const (
	warnClock    = 2 * time.Second
	problemClock = 10 * time.Second
)

// clockLine compares the clock of this machine with that of an endpoint.
func clockLine(ctx context.Context, endpoint string, now func() time.Time) doctor.Line {
	l := doctor.Line{Check: clockCheck, Status: doctor.OK}
	server, err := serverTime(ctx, endpoint)
	if err != nil {
		l.Status, l.Count, l.Text = doctor.Warn, 1, "the clock of the endpoint is not known: "+err.Error()
		l.Remedy = "check the address of the endpoint"
		return l
	}
	off := now().Sub(server).Abs().Truncate(time.Second) // the header has whole seconds
	l.Text = fmt.Sprintf("this machine and the endpoint differ by %s", off)
	switch {
	case off >= problemClock:
		l.Status = doctor.Problem
	case off >= warnClock:
		l.Status = doctor.Warn
	default:
		return l
	}
	l.Count, l.Remedy = 1, "synchronize the clock of this machine: times of this report depend on it"
	return l
}

// serverTime asks an endpoint for its time.
func serverTime(ctx context.Context, endpoint string) (time.Time, error) {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, http.MethodGet, endpoint, nil)
	if err != nil {
		return time.Time{}, err
	}
	response, err := http.DefaultClient.Do(request)
	if err != nil {
		return time.Time{}, err
	}
	defer response.Body.Close()
	return http.ParseTime(response.Header.Get("Date"))
}
