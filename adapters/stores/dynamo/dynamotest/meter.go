package dynamotest

import (
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"maps"
	"net/http"
	"strings"
	"sync"
)

// Meter is an http.RoundTripper that counts the capacity units that requests cost, by
// DynamoDB's published rules and from the sizes on the wire. It never trusts an
// endpoint's own figures, since emulators get them wrong. It remembers every item that it
// saw written. It is safe for concurrent use.
//
// It counts:
//
//   - A put is one write unit per started KB of the item or, if larger, of the item that
//     it replaces. The meter knows the replaced item if it saw it written or if a failed
//     condition returned it; otherwise it assumes the size of the new one. A HEAD hardly
//     changes its size.
//   - A put whose condition fails costs as much as the write would have cost.
//   - A deletion is one write unit per started KB of the deleted item, at least one.
//   - An index costs one unit when its entry appears or disappears, two when its key
//     changes (a delete and an insert), none when it stays; under kind "index". The index
//     of lists has payloads: its units are per started KB, one of them when the key
//     stays, under kind "listing" like the records that are listed.
//   - A read costs one unit per started 4 KB that it returns (a query: of the sum of a
//     page), at least one; half of that if it is eventually consistent.
//
// Refused requests (throttled, invalid) cost nothing. An attempt without a
// response is not counted, although it may have been billed.
//
// It also counts the sequential round trips, which make up the latency of the metered
// calls: see [Meter.Rounds].
type Meter struct {
	Next http.RoundTripper // makes the requests

	mu     sync.Mutex
	units  map[string]Units
	items  map[itemKey]seen
	rounds chain
}

// chain measures the longest chain of requests, each of which began after the
// one before it had ended.
type chain struct{ ended, longest int }

func (c *chain) begin() (place int) {
	place = c.ended + 1
	c.longest = max(c.longest, place)
	return place
}

func (c *chain) end(place int) { c.ended = max(c.ended, place) }

// Units is the cost of requests.
type Units struct {
	Write float64 // WCU: one per started KB
	Read  float64 // RRU: one per started 4 KB, strongly consistent
	Calls int     // counted requests, without writes of indexes
}

type itemKey struct{ pk, sk string }

// seen is what the meter remembers of an item: its size in bytes, and its key in
// each of the indexes due, waiting and listed, empty if it has none.
type seen struct {
	size int
	keys [3]string
}

// listedKey is the place of the index listed among a seen item's keys.
const listedKey = 2

// Rounds is the number of sequential round trips since the last Reset: the length of the
// longest chain of requests, each of which started after the previous one had ended.
// Attempts without a response count. If a busy machine delays concurrent requests, they
// count one by one: use the least of several measurements. Reset only while no request is
// on its way.
func (m *Meter) Rounds() int {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.rounds.longest
}

// Units returns the units since the last Reset by kind of item: head, log, summary,
// input, decision, audit, run, about, listing, snapshot, suspension, event, pointer,
// profile, config (a snapshot of it), usage, index; "other" is the kind of items that the
// meter cannot price.
func (m *Meter) Units() map[string]Units {
	m.mu.Lock()
	defer m.mu.Unlock()
	return maps.Clone(m.units)
}

// Total is the sum over all kinds.
func (m *Meter) Total() Units {
	var total Units
	for _, u := range m.Units() {
		total.Write += u.Write
		total.Read += u.Read
		total.Calls += u.Calls
	}
	return total
}

// Reset sets the counts to zero. The meter still remembers the items that it saw.
func (m *Meter) Reset() {
	m.mu.Lock()
	defer m.mu.Unlock()
	clear(m.units)
	m.rounds = chain{}
}

// RoundTrip implements http.RoundTripper.
func (m *Meter) RoundTrip(request *http.Request) (*http.Response, error) {
	var body []byte
	if request.Body != nil {
		var err error
		body, err = io.ReadAll(request.Body)
		_ = request.Body.Close()
		if err != nil {
			return nil, fmt.Errorf("meter: read request: %w", err)
		}
		copied := *request
		copied.Body = io.NopCloser(bytes.NewReader(body))
		request = &copied
	}
	defer m.round()()
	response, err := m.Next.RoundTrip(request)
	if err != nil {
		return nil, err
	}
	content, err := io.ReadAll(response.Body)
	_ = response.Body.Close()
	if err != nil {
		return nil, fmt.Errorf("meter: read response: %w", err)
	}
	response.Body = io.NopCloser(bytes.NewReader(content))
	_, operation, _ := strings.Cut(request.Header.Get("X-Amz-Target"), ".")
	m.count(operation, body, response.StatusCode, content)
	return response, nil
}

// round notes that a request begins; the function it returns, that it has ended.
func (m *Meter) round() func() {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.units == nil {
		m.units, m.items = map[string]Units{}, map[itemKey]seen{}
	}
	place := m.rounds.begin()
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		m.rounds.end(place)
	}
}

// sent and got are the parts of requests and replies that decide the price.
type sent struct {
	Item           wireItem
	Key            wireItem
	ConsistentRead bool
	IndexName      string
	Values         wireItem `json:"ExpressionAttributeValues"`
}

type got struct {
	Type  string `json:"__type"`
	Item  wireItem
	Items []wireItem
	// Attributes are what an update has made, which all of ours ask for.
	Attributes wireItem
}

func (m *Meter) count(operation string, request []byte, status int, content []byte) {
	var in sent
	var out got
	if json.Unmarshal(request, &in) != nil || json.Unmarshal(content, &out) != nil {
		operation = ""
	}
	failed := strings.HasSuffix(out.Type, "ConditionalCheckFailedException")
	if status != http.StatusOK && !failed {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	switch operation {
	case "PutItem":
		m.putItem(in.Item, failed, out.Item)
	case "UpdateItem":
		m.updateItem(in.Key, failed, out)
	case "DeleteItem":
		m.deleteItem(in.Key, failed, out.Item)
	case "GetItem":
		m.add(kindOf(in.Key.text("pk"), in.Key.text("sk")), Units{Read: readUnits(out.Item.size(), in.ConsistentRead), Calls: 1})
	case "Query", "Scan": // of Scan, what the index due has
		kind := "index"
		if in.IndexName == "" {
			kind = kindOf(in.Values.text(":pk"), in.Values.text(":from"))
		}
		size := 0
		for _, it := range out.Items {
			size += it.size()
		}
		m.add(kind, Units{Read: readUnits(size, in.ConsistentRead), Calls: 1})
	default:
		m.add("other", Units{Calls: 1})
	}
}

func (m *Meter) putItem(it wireItem, failed bool, stands wireItem) {
	key := itemKey{it.text("pk"), it.text("sk")}
	if stands != nil {
		m.items[key] = stands.seen()
	}
	before, after := m.items[key], it.seen()
	m.add(kindOf(key.pk, key.sk), Units{Write: writeUnits(max(before.size, after.size)), Calls: 1})
	if failed {
		return
	}
	m.items[key] = after
	for i, key := range after.keys {
		switch {
		case i == listedKey && key == "": // what is listed stays so
		case i == listedKey:
			m.add("listing", Units{Write: listedUnits(before, after)})
		case before.keys[i] == key:
		case before.keys[i] == "" || key == "":
			m.add("index", Units{Write: 1})
		default:
			m.add("index", Units{Write: 2})
		}
	}
}

// updateItem costs as much as a put of the larger of before and after. In an index of the
// item it changes only the keys.
func (m *Meter) updateItem(it wireItem, failed bool, out got) {
	key := itemKey{it.text("pk"), it.text("sk")}
	if failed {
		m.add(kindOf(key.pk, key.sk), Units{Write: writeUnits(out.Item.size()), Calls: 1})
		return
	}
	before, after := m.items[key], out.Attributes.seen()
	m.add(kindOf(key.pk, key.sk), Units{Write: writeUnits(max(before.size, after.size)), Calls: 1})
	m.items[key] = after
	if before.keys[listedKey] != after.keys[listedKey] {
		m.add("listing", Units{Write: 1})
	}
}

// listedUnits is what a put costs the index of lists.
func listedUnits(before, after seen) float64 {
	was, is := before.keys[listedKey], after.keys[listedKey]
	switch {
	case was == "" || was == is:
		return writeUnits(after.size)
	}
	return writeUnits(before.size) + writeUnits(after.size)
}

// deleteItem costs what a write of the deleted item does; of one that the meter
// did not see, one unit. No item of an index is ever deleted.
func (m *Meter) deleteItem(it wireItem, failed bool, stands wireItem) {
	key := itemKey{it.text("pk"), it.text("sk")}
	if stands != nil {
		m.items[key] = stands.seen()
	}
	m.add(kindOf(key.pk, key.sk), Units{Write: writeUnits(m.items[key].size), Calls: 1})
	if !failed {
		delete(m.items, key)
	}
}

// add counts; the caller holds the lock.
func (m *Meter) add(kind string, u Units) {
	sum := m.units[kind]
	m.units[kind] = Units{Write: sum.Write + u.Write, Read: sum.Read + u.Read, Calls: sum.Calls + u.Calls}
}

func writeUnits(size int) float64 { return float64(max(1, (size+1023)/1024)) }

func readUnits(size int, strong bool) float64 {
	units := float64(max(1, (size+4095)/4096))
	if !strong {
		units /= 2
	}
	return units
}

// kindOf names the kind of item that a key belongs to.
func kindOf(pk, sk string) string {
	switch first, _, _ := strings.Cut(pk, "#"); first {
	case "U", "V", "W": // records, sums and marks
		return "usage"
	}
	prefix, _, _ := strings.Cut(sk, "#")
	if kind, ok := kinds[prefix]; ok {
		return kind
	}
	return "other"
}

var kinds = map[string]string{
	"H": "head", "N": "pointer",
	"M": "log", "Z": "summary", "Q": "input", "D": "decision", "A": "audit",
	"B": "admission", "R": "run", "L": "listing", "T": "about", "S": "snapshot", "C": "suspension", "E": "event", "F": "mark",
	"K": "profile", "G": "config",
}
