package storetest

import (
	"context"
	"errors"
	"fmt"
	"sync"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

var putClauses = []clause{
	{"PutOfALogRecord", func(p *probe) { p.putTable(logPuts, "M#000000000007") }},
	{"PutOfACreateOnlyRecord", func(p *probe) {
		p.putTable(createPuts, "Q#7#0", "D#7#1#0#a", "Z#7", "E#7", "P#7", "O#7", "C#7#1#0#once#a")
	}},
	{"PutOfARewritableRecord", func(p *probe) {
		p.putTable(rewritePuts, "R#7", "S#", "S#/thread/a", "A#7#read", "C#7#1#0#a", "C#7#round#5", "F#")
	}},
	{"PutOfAnUnknownKindIsInvalid", putOfAnUnknownKindIsInvalid},
	{"AbsentRecordIsNotOK", absentRecordIsNotOK},
	{"PayloadsRoundTrip", payloadsRoundTrip},
	{"ARecordOfTheFutureIsKept", aRecordOfTheFutureIsKept},
	{"ARewriteHasItsOwnExpiry", aRewriteHasItsOwnExpiry},
	{"TheHighestOfRacingFencesStays", theHighestOfRacingFencesStays},
	{"OneOfRacingCreatorsWins", oneOfRacingCreatorsWins},
}

// written is a record apart from its name.
type written struct {
	fence   uint64
	version uint64
	payload string
}

// absent means no record.
var absent *written

// putCase puts next over stored. want is what Put must return, after what must
// be stored then.
type putCase struct {
	name   string
	stored *written
	next   written
	want   error
	after  written
}

var logPuts = []putCase{
	{"absent: written", absent, written{3, 0, "a"}, nil, written{3, 0, "a"}},
	{"lower fence stored, other bytes: written", &written{2, 0, "a"}, written{3, 0, "b"}, nil, written{3, 0, "b"}},
	{"lower fence stored, equal bytes: the fence must rise, else the older worker could still overwrite an adopted record",
		&written{2, 0, "a"}, written{3, 0, "a"}, nil, written{3, 0, "a"}},
	{"equal fence, equal bytes: a success", &written{3, 0, "a"}, written{3, 0, "a"}, nil, written{3, 0, "a"}},
	{"equal fence, other bytes: ErrConflict", &written{3, 0, "a"}, written{3, 0, "b"}, store.ErrConflict, written{3, 0, "a"}},
	{"higher fence stored, other bytes: ErrFenced", &written{4, 0, "a"}, written{3, 0, "b"}, store.ErrFenced, written{4, 0, "a"}},
	{"higher fence stored, equal bytes: still ErrFenced", &written{4, 0, "a"}, written{3, 0, "a"}, store.ErrFenced, written{4, 0, "a"}},
	{"fences are numbers, not texts", &written{9, 0, "a"}, written{10, 0, "b"}, nil, written{10, 0, "b"}},
}

var createPuts = []putCase{
	{"absent: written", absent, written{0, 0, "a"}, nil, written{0, 0, "a"}},
	{"equal bytes: a success", &written{0, 0, "a"}, written{0, 0, "a"}, nil, written{0, 0, "a"}},
	{"other bytes: ErrConflict", &written{0, 0, "a"}, written{0, 0, "b"}, store.ErrConflict, written{0, 0, "a"}},
	{"a prefix of the bytes: ErrConflict", &written{0, 0, "abc"}, written{0, 0, "ab"}, store.ErrConflict, written{0, 0, "abc"}},
	{"no bytes over some: ErrConflict", &written{0, 0, "a"}, written{0, 0, ""}, store.ErrConflict, written{0, 0, "a"}},
}

var rewritePuts = []putCase{
	{"absent: written", absent, written{3, 5, "a"}, nil, written{3, 5, "a"}},
	{"lower fence stored: written", &written{2, 5, "a"}, written{3, 5, "b"}, nil, written{3, 5, "b"}},
	{"lower fence and higher version stored: the fence counts first", &written{2, 9, "a"}, written{3, 1, "b"}, nil, written{3, 1, "b"}},
	{"lower fence stored, equal bytes: the fence must rise", &written{2, 5, "a"}, written{3, 5, "a"}, nil, written{3, 5, "a"}},
	{"equal fence, lower version stored: written", &written{3, 4, "a"}, written{3, 5, "b"}, nil, written{3, 5, "b"}},
	{"equal fence, lower version stored, equal bytes: the version must rise", &written{3, 4, "a"}, written{3, 5, "a"}, nil, written{3, 5, "a"}},
	{"equal fence and version, equal bytes: a success", &written{3, 5, "a"}, written{3, 5, "a"}, nil, written{3, 5, "a"}},
	{"equal fence and version, other bytes: ErrConflict", &written{3, 5, "a"}, written{3, 5, "b"}, store.ErrConflict, written{3, 5, "a"}},
	{"equal fence, higher version stored: ErrFenced", &written{3, 6, "a"}, written{3, 5, "b"}, store.ErrFenced, written{3, 6, "a"}},
	{"equal fence, higher version stored, equal bytes: still ErrFenced", &written{3, 6, "a"}, written{3, 5, "a"}, store.ErrFenced, written{3, 6, "a"}},
	{"higher fence stored: ErrFenced", &written{4, 5, "a"}, written{3, 5, "b"}, store.ErrFenced, written{4, 5, "a"}},
	{"higher fence and lower version stored: ErrFenced", &written{4, 1, "a"}, written{3, 9, "b"}, store.ErrFenced, written{4, 1, "a"}},
	{"versions are numbers, not texts", &written{3, 9, "a"}, written{3, 10, "b"}, nil, written{3, 10, "b"}},
}

// putTable holds Put to the cases, and Commit, which puts under the same
// conditions.
func (p *probe) putTable(cases []putCase, recordNames ...string) {
	for i, c := range cases {
		for _, name := range recordNames {
			alone, together := p.key(fmt.Sprint("put", i)), p.key(fmt.Sprint("commit", i))
			if c.stored != absent {
				p.put(alone, c.stored.record(name))
				p.put(together, c.stored.record(name))
			}
			p.wantCase(&c, "Put", alone, name, p.b.Put(p.ctx, alone, c.next.record(name)))

			version := p.head(together).Version + 1
			got, err := p.b.Commit(p.ctx, together, store.Commit{Records: []store.Record{c.next.record(name)}, Head: head(version, byte(i))})
			p.wantCase(&c, "Commit", together, name, err)
			if got.Written != (c.want == nil) {
				p.t.Errorf("Commit of %s: %s: returns Written=%v, want %v: a refused record must leave the head as it was", name, c.name, got.Written, c.want == nil)
			}
			if want := version - 1; c.want != nil && p.head(together).Version != want {
				p.t.Errorf("Commit of %s: %s: the head's version is %d, want %d", name, c.name, p.head(together).Version, want)
			}
		}
	}
}

// wantCase checks what a put of a case returned, and what it left.
func (p *probe) wantCase(c *putCase, method string, key core.ThreadKey, name string, err error) {
	p.t.Helper()
	if !errors.Is(err, c.want) {
		p.t.Errorf("%s of %s: %s\nstored %s\nput    %s\nreturns the error %v\nwant   %s", method, name, c.name, c.stored, &c.next, err, c.wantText())
	}
	var refused *store.RefusedError
	if c.want != nil && (!errors.As(err, &refused) || refused.Name != name || !errors.Is(refused.Cause, c.want)) {
		p.t.Errorf("%s of %s: %s: returns the error %v, want a *store.RefusedError that names the record, with the cause %s", method, name, c.name, err, c.wantText())
	}
	got, _, err := p.b.Get(p.ctx, key, name)
	if want := c.after.record(name); err != nil || describe(got) != describe(want) {
		p.t.Errorf("%s of %s: %s\nstored %s\nput    %s\nleaves %s, %v\nwant   %s", method, name, c.name, c.stored, &c.next, describe(got), err, describe(want))
	}
}

func (c *putCase) wantText() string {
	switch c.want {
	case store.ErrFenced:
		return "store.ErrFenced"
	case store.ErrConflict:
		return "store.ErrConflict"
	}
	return "no error"
}

func (w *written) record(name string) store.Record {
	return store.Record{Name: name, Fence: w.fence, Version: w.version, Payload: []byte(w.payload)}
}

// String implements fmt.Stringer for failure texts.
func (w *written) String() string {
	if w == absent {
		return "nothing"
	}
	return fmt.Sprintf("fence=%d version=%d payload=%q", w.fence, w.version, w.payload)
}

func putOfAnUnknownKindIsInvalid(p *probe) {
	key := p.key("t")
	for _, name := range []string{"", "X#1", "HEAD", "m#000000000001"} {
		err := p.b.Put(p.ctx, key, store.Record{Name: name, Fence: 1, Payload: []byte("a")})
		if core.CodeOf(err) != core.CodeInvalid {
			p.t.Errorf("Put of the name %q, which has no kind, returns the error %v, want code %q", name, err, core.CodeInvalid)
		}
	}
}

func absentRecordIsNotOK(p *probe) {
	p.wantNoRecord(p.key("never-written"), store.LogName(1))
	key := p.key("t")
	p.set(key, head(1, 1))
	p.put(key, logRecord(1, 1))
	p.wantNoRecord(key, store.LogName(2))
	p.wantNoRecord(key, "M#")
}

func payloadsRoundTrip(p *probe) {
	payloads := [][]byte{
		nil, {}, {0}, []byte("a"), []byte(`{"text":"grüße"}`), {0xff, 0, 0xfe, '\n', 0},
		noise(4 << 10), make([]byte, largePayload), noise(largePayload),
	}
	key := p.key("t")
	for i, payload := range payloads {
		for _, name := range []string{store.LogName(uint64(i)), fmt.Sprint("Q#", i), fmt.Sprint("R#", i), fmt.Sprint("S#", i)} {
			record := store.Record{Name: name, Payload: payload}
			if record.Kind() != store.KindCreate {
				record.Fence = 1<<63 + uint64(i)
			}
			if record.Kind() == store.KindRewrite {
				record.Version = 1<<63 + uint64(i)
			}
			p.put(key, record)
			p.wantRecord(key, record)
			p.put(key, record) // equal bytes are a success, compressed or moved out as they may be
		}
	}
}

func aRecordOfTheFutureIsKept(p *probe) {
	key := p.key("t")
	const year2100 = 4_102_444_800
	record := store.Record{Name: "Q#1", Payload: []byte("a"), Expires: year2100}
	p.put(key, record)
	p.wantRecord(key, record)
}

// aRewriteHasItsOwnExpiry: a permanent record is not lost with the earlier one in its
// place, and the other way round.
func aRewriteHasItsOwnExpiry(p *probe) {
	key := p.key("t")
	const year2100 = 4_102_444_800
	record := store.Record{Name: "R#1", Fence: 1, Version: 1, Payload: []byte("a"), Expires: year2100}
	for version, expires := range []int64{year2100, year2100 + 7, 0, year2100, 0} {
		record.Version, record.Expires = uint64(version+1), expires
		p.put(key, record)
		p.wantRecord(key, record)
	}
}

func theHighestOfRacingFencesStays(p *probe) {
	const writers = 16
	key := p.key("t")
	p.race(writers, func(ctx context.Context, i int) error {
		fence := uint64(i + 1)
		err := p.b.Put(ctx, key, logRecord(1, fence))
		if fence < writers && errors.Is(err, store.ErrFenced) || err == nil {
			return nil
		}
		return fmt.Errorf("the highest of fences 1..%d must be written, the others written or ErrFenced; under fence %d Put returns: %w", writers, fence, err)
	})
	p.wantRecord(key, logRecord(1, writers))
}

func oneOfRacingCreatorsWins(p *probe) {
	key := p.key("t")
	record := func(i int) store.Record { return store.Record{Name: "D#1", Payload: []byte{byte(i)}} }
	var mu sync.Mutex
	var won []int
	p.race(16, func(ctx context.Context, i int) error {
		err := p.b.Put(ctx, key, record(i))
		if errors.Is(err, store.ErrConflict) {
			return nil
		}
		mu.Lock()
		defer mu.Unlock()
		won = append(won, i)
		return err
	})
	if len(won) != 1 {
		p.t.Fatalf("%d of 16 racing creators of D#1 with different bytes succeeded, want exactly 1 and ErrConflict for the others", len(won))
	}
	p.wantRecord(key, record(won[0]))
}
