package dynamo

import (
	"context"
	"encoding/base64"
	"errors"
	"fmt"
	"math"
	"strconv"
	"strings"

	"github.com/aws/aws-sdk-go-v2/aws"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb"
	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// A tenant's admission is one item of the table of threads. Its counters have the day in
// their names, so that a new day needs no write that resets them: a counter that is not
// there is 0. Its slots are three maps by run, two of them numbers that an update adds to.
// It is in the index of lists from its first run on until Occupied finds that it has no
// slot; no update between these two touches the index.
const (
	admissionName = "B"
	occupiedList  = "B#"

	attrSlots      = "ss"
	attrSlotTokens = "st"
	attrSlotSpend  = "sp"

	// The starts of the names of a day's counters.
	runsOf   = "ar"
	tokensOf = "at"
	spendOf  = "au"
)

// maxTries bounds the attempts to write an admission that other workers change.
const maxTries = 5

func admissionItem(tenant string) (item, error) {
	if err := core.CheckName("tenant", tenant); err != nil {
		return nil, err
	}
	return item{attrPK: text("B#" + tenant), attrSK: text(admissionName)}, nil
}

func counter(of string, day int64) string { return of + strconv.FormatInt(day, 10) }

func runText(run core.ID) string { return base64.RawURLEncoding.EncodeToString(run[:]) }

func parseRunText(s string) (run core.ID, err error) {
	b, err := base64.RawURLEncoding.DecodeString(s)
	if err != nil || len(b) != len(run) {
		return run, fmt.Errorf("%w: slot %q names no run", store.ErrCorrupt, core.Excerpt(s))
	}
	return core.ID(b), nil
}

// slotText is what a slot says but for its numbers.
func slotText(s store.Slot) string {
	return strconv.FormatInt(s.Since, 10) + " " + s.Thread + " " + s.Key
}

// parseSlotText is the inverse.
func parseSlotText(text string) (s store.Slot, ok bool) {
	parts := strings.Split(text, " ")
	if len(parts) != 3 {
		return s, false
	}
	since, err := strconv.ParseInt(parts[0], 10, 64)
	return store.Slot{Since: since, Thread: parts[1], Key: parts[2]}, err == nil
}

// signed is number for what may be below zero.
func signed(it item, name string) (int64, error) {
	v, ok := it[name]
	if !ok {
		return 0, nil
	}
	n, ok := v.(*types.AttributeValueMemberN)
	if !ok {
		return 0, strconv.ErrSyntax
	}
	return strconv.ParseInt(n.Value, 10, 64)
}

func mapOf(it item, name string) item {
	if m, ok := it[name].(*types.AttributeValueMemberM); ok {
		return m.Value
	}
	return nil
}

// decodeAdmission reads a tenant's item with the counters of a day.
func decodeAdmission(it item, day int64) (a store.Admission, err error) {
	a.Day = day
	runs, err1 := signed(it, counter(runsOf, day))
	tokens, err2 := signed(it, counter(tokensOf, day))
	spend, err3 := signed(it, counter(spendOf, day))
	if err := errors.Join(err1, err2, err3); err != nil {
		return a, fmt.Errorf("%w: a counter is not a number in range", store.ErrCorrupt)
	}
	a.Runs, a.Tokens, a.Spend = runs, tokens, core.USD(spend)
	slots, tokensIn, spendIn := mapOf(it, attrSlots), mapOf(it, attrSlotTokens), mapOf(it, attrSlotSpend)
	for name := range slots {
		run, err := parseRunText(name)
		if err != nil {
			return a, err
		}
		slot, ok := parseSlotText(textOf(slots, name))
		slot.Tokens, err1 = signed(tokensIn, name)
		spend, err2 := signed(spendIn, name)
		if slot.Spend = core.USD(spend); !ok || errors.Join(err1, err2) != nil {
			return a, fmt.Errorf("%w: slot of run %s cannot be read", store.ErrCorrupt, run)
		}
		if a.Slots == nil {
			a.Slots = map[core.ID]store.Slot{}
		}
		a.Slots[run] = slot
	}
	return a, nil
}

// Admission implements [store.Backend].
func (s *Store) Admission(ctx context.Context, tenant string, day int64) (store.Admission, error) {
	key, err := admissionItem(tenant)
	if err != nil {
		return store.Admission{}, err
	}
	doing := fmt.Sprintf("read admission of tenant %s", tenant)
	it, err := s.threads.get(ctx, doing, key[attrPK], key[attrSK])
	if err != nil {
		return store.Admission{}, err
	}
	a, err := decodeAdmission(it, day)
	if err != nil {
		return store.Admission{}, fmt.Errorf("%s: %w", doing, err)
	}
	return a, nil
}

// admissionUpdate is an update of a tenant's item under way.
type admissionUpdate struct {
	doing  string
	tenant string
	day    int64
	update string
	where  string
	names  map[string]string
	values item
}

// send writes the update. met is what refused it, nil: it was written.
func (s *Store) send(ctx context.Context, u admissionUpdate) (after store.Admission, met *refusal, err error) {
	key, err := admissionItem(u.tenant)
	if err != nil {
		return after, nil, err
	}
	names := u.names
	if len(names) == 0 {
		names = nil
	}
	out, met, err := s.threads.update(ctx, u.doing, &dynamodb.UpdateItemInput{
		Key: key, UpdateExpression: aws.String(u.update), ConditionExpression: aws.String(u.where),
		ExpressionAttributeNames: names, ExpressionAttributeValues: u.values, ReturnValues: types.ReturnValueAllNew,
	})
	if err != nil {
		return after, nil, err
	}
	it := out
	if met != nil {
		it = met.item
	}
	if after, err = decodeAdmission(it, u.day); err != nil {
		return after, nil, fmt.Errorf("%s: %w", u.doing, err)
	}
	return after, met, nil
}

// found makes a tenant's item, without slots, if there is no item.
func (s *Store) found(ctx context.Context, doing, tenant string) error {
	none := &types.AttributeValueMemberM{Value: item{}}
	_, _, err := s.send(ctx, admissionUpdate{
		doing: doing, tenant: tenant, update: "SET ss = :m, st = :m, sp = :m", where: "attribute_not_exists(ss)", values: item{":m": none},
	})
	return err
}

// dayNames are the names of a day's counters, and of those of two days before, which are
// removed with each update.
func dayNames(day int64, run core.ID) map[string]string {
	return map[string]string{
		"#cr": counter(runsOf, day), "#ct": counter(tokensOf, day), "#cu": counter(spendOf, day),
		"#or": counter(runsOf, day-2), "#ot": counter(tokensOf, day-2), "#ou": counter(spendOf, day-2),
		"#id": runText(run),
	}
}

// Admit implements [store.Backend] with one UpdateItem; of a tenant that has no item
// yet with three.
func (s *Store) Admit(ctx context.Context, tenant string, a store.Admitting) (store.Admission, bool, error) {
	u := admissionUpdate{
		doing: fmt.Sprintf("admit run %s of tenant %s", a.Run, tenant), tenant: tenant, day: a.Day,
		update: "SET ss.#id = :slot, st.#id = :st, sp.#id = :sp, l = :l, m = :m REMOVE #or, #ot, #ou",
		where:  "attribute_exists(ss) AND attribute_not_exists(ss.#id)",
		names:  dayNames(a.Day, a.Run),
		values: item{
			":slot": text(slotText(a.Slot)), ":st": number(a.Slot.Tokens), ":sp": number(int64(a.Slot.Spend)),
			":l": text(occupiedList), ":m": text(tenant),
		},
	}
	if !a.Again {
		u.update += " ADD #cr :one"
		u.values[":one"] = number(1)
	}
	bound := func(value string, most int64, condition string) {
		if most > 0 {
			u.where += " AND " + condition
			u.values[value] = number(most)
		}
	}
	bound(":runs", a.MaxRuns, "(attribute_not_exists(#cr) OR #cr < :runs)")
	bound(":tokens", a.MaxTokens, "(attribute_not_exists(#ct) OR #ct < :tokens)")
	bound(":spend", int64(a.MaxSpend), "(attribute_not_exists(#cu) OR #cu < :spend)")
	bound(":slots", int64(a.MaxSlots), "size(ss) < :slots")
	u.trimNames()
	for range maxTries {
		after, met, err := s.send(ctx, u)
		if err != nil || met == nil {
			return after, err == nil, err
		}
		if met.item[attrSlots] == nil {
			if err := s.found(ctx, u.doing, tenant); err != nil {
				return store.Admission{}, false, err
			}
			continue
		}
		if _, ok := after.Slots[a.Run]; ok { // an earlier try was applied, or it was admitted before
			return after, true, nil
		}
		if !a.Room(after) {
			return after, false, nil
		}
	}
	return store.Admission{}, false, core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", u.doing)
}

// trimNames leaves out the names that no expression has: DynamoDB refuses them.
func (u *admissionUpdate) trimNames() {
	for name := range u.names {
		if !strings.Contains(u.update+u.where, name) {
			delete(u.names, name)
		}
	}
}

// Charge implements [store.Backend] with one UpdateItem.
func (s *Store) Charge(ctx context.Context, tenant string, c store.Use) (store.Admission, bool, error) {
	u := admissionUpdate{
		doing: fmt.Sprintf("charge run %s of tenant %s", c.Run, tenant), tenant: tenant, day: c.Day,
		update: "ADD #ct :n, #cu :usd REMOVE #or, #ot, #ou", where: "attribute_exists(ss)",
		names: dayNames(c.Day, c.Run), values: item{":n": number(c.Tokens), ":usd": number(int64(c.Spend))},
	}
	if c.Slot != (store.Slot{}) {
		u.update = "SET st.#id = st.#id + :n, sp.#id = sp.#id + :usd " + u.update
		u.where = "ss.#id = :slot"
		u.values[":slot"] = text(slotText(c.Slot))
	}
	u.trimNames()
	for range maxTries {
		after, met, err := s.send(ctx, u)
		if err != nil || met == nil {
			return after, err == nil, err
		}
		if c.Slot != (store.Slot{}) {
			return after, false, nil
		}
		if err := s.found(ctx, u.doing, tenant); err != nil {
			return store.Admission{}, false, err
		}
	}
	return store.Admission{}, false, core.Errorf(core.CodeUnavailable, "%s: the stored item changed during the write", u.doing)
}

// Release implements [store.Backend] with one UpdateItem.
func (s *Store) Release(ctx context.Context, tenant string, r store.Use) (bool, error) {
	u := admissionUpdate{
		doing: fmt.Sprintf("release run %s of tenant %s", r.Run, tenant), tenant: tenant, day: r.Day,
		update: "REMOVE ss.#id, st.#id, sp.#id",
		where:  "ss.#id = :slot AND st.#id = :st AND sp.#id = :sp",
		names:  dayNames(r.Day, r.Run),
		values: item{":slot": text(slotText(r.Slot)), ":st": number(r.Slot.Tokens), ":sp": number(int64(r.Slot.Spend))},
	}
	add := ""
	less := func(name, value string, n int64) {
		if n != 0 {
			add += ", " + name + " " + value
			u.values[value] = number(-n)
		}
	}
	less("#cr", ":runs", r.Runs)
	less("#ct", ":tokens", r.Tokens)
	less("#cu", ":usd", int64(r.Spend))
	if add != "" {
		u.update += " ADD" + strings.TrimPrefix(add, ",")
	}
	u.trimNames()
	_, met, err := s.send(ctx, u)
	if err != nil {
		return false, err
	}
	// A refusal after an attempt without a response may be caused by that attempt: the
	// slot is gone then, as if another worker had released it.
	return met == nil, nil
}

// Occupied implements [store.Backend], by the index, which a tenant leaves with its last
// slot.
func (s *Store) Occupied(ctx context.Context, after string, limit int) ([]store.Occupied, error) {
	if limit <= 0 {
		return nil, ctx.Err()
	}
	const doing = "list tenants with slots"
	input := &dynamodb.QueryInput{
		IndexName:                 aws.String(listedIndex),
		Limit:                     aws.Int32(int32(min(limit, math.MaxInt32))),
		KeyConditionExpression:    aws.String("l = :l"),
		ExpressionAttributeValues: item{":l": text(occupiedList)},
	}
	if after != "" {
		input.KeyConditionExpression = aws.String("l = :l AND m > :m")
		input.ExpressionAttributeValues[":m"] = text(after)
	}
	var list []store.Occupied
	for it, err := range s.threads.items(ctx, doing, input) {
		if err != nil {
			return nil, err
		}
		tenant := textOf(it, attrPlace)
		key, err := admissionItem(tenant)
		if err != nil {
			return nil, fmt.Errorf("%s: %w: %w", doing, store.ErrCorrupt, err)
		}
		stored, err := s.threads.get(ctx, doing, key[attrPK], key[attrSK])
		if err != nil {
			return nil, err
		}
		a, err := decodeAdmission(stored, 0)
		if err != nil {
			return nil, fmt.Errorf("%s: tenant %s: %w", doing, tenant, err)
		}
		if len(a.Slots) == 0 {
			if err := s.leaveIndex(ctx, tenant, stored); err != nil {
				return nil, err
			}
			continue
		}
		if list = append(list, store.Occupied{Tenant: tenant, Slots: a.Slots}); len(list) == limit {
			break
		}
	}
	return list, nil
}

// leaveIndex takes an item without slots out of the index, until the next run.
func (s *Store) leaveIndex(ctx context.Context, tenant string, stored item) error {
	if stored[attrList] == nil {
		return nil
	}
	_, _, err := s.send(ctx, admissionUpdate{
		doing: "note that tenant " + tenant + " has no slots", tenant: tenant,
		update: "REMOVE l, m", where: "size(ss) = :none", values: item{":none": number(0)},
	})
	return err
}
