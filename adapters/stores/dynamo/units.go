package dynamo

import (
	"context"
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/store"
)

// Units are counted if there is a meter, by DynamoDB's published rules and from the sizes
// of requests and responses: a write unit per started KB, a read unit per started 4 KB,
// half of it for an eventually consistent read. The index of lists has whole items, so
// that they are written twice. Two things are not known here and omitted: whether an item
// replaces a larger one, and whether the due time of a head moves in its index. A request
// that was refused or got no response counts nothing.

// unit is what a meter counts a unit as.
const unit = 100

func itemSize(it item) (size int) {
	for name, value := range it {
		size += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += numberSize(v.Value)
		case *types.AttributeValueMemberB:
			size += len(v.Value)
		case *types.AttributeValueMemberM:
			size += 3 + len(v.Value) + itemSize(v.Value)
		default:
			size++ // a boolean
		}
	}
	return size
}

// numberSize is one byte, one more for every two significant digits, and one for a sign.
func numberSize(decimal string) int {
	digits := strings.TrimPrefix(decimal, "-")
	return 1 + (len(strings.Trim(digits, "0"))+1)/2 + len(decimal) - len(digits)
}

func writeUnits(size int) int64 { return unit * int64(max(1, (size+1023)/1024)) }

func readUnits(size int, strong bool) int64 {
	n := unit * int64(max(1, (size+4095)/4096))
	if !strong {
		n /= 2
	}
	return n
}

// wrote counts a put, with that of the index of lists.
func wrote(ctx context.Context, it item) {
	wroteIn(ctx, it)
	if it[attrList] != nil {
		wroteIn(ctx, it)
	}
}

// wroteIn counts a write to one table or index.
func wroteIn(ctx context.Context, it item) {
	if m := store.MeterOf(ctx); m != nil {
		m.Add(core.Spent{Write: writeUnits(itemSize(it))})
	}
}

// read counts what a request has read.
func read(ctx context.Context, strong bool, items ...item) {
	m := store.MeterOf(ctx)
	if m == nil {
		return
	}
	size := 0
	for _, it := range items {
		size += itemSize(it)
	}
	m.Add(core.Spent{Read: readUnits(size, strong)})
}

// EstimateCommit implements [store.Estimator]. Payloads that will be compressed count
// half.
func (s *Store) EstimateCommit(c store.Commit) core.Spent {
	const keys = 64 // with names, fence and version
	size := func(payload []byte) int {
		if len(payload) > packOver {
			return keys + len(payload)/2
		}
		return keys + len(payload)
	}
	n := int64(unit) // the head
	for _, r := range c.Records {
		each := writeUnits(size(r.Payload))
		if r.Kind() == store.KindLatest {
			each *= 2
		}
		n += each
	}
	for _, p := range c.Pointers {
		n += writeUnits(size(p.Value))
	}
	if c.Usage != nil {
		n += writeUnits(size(c.Usage.Payload))
	}
	return core.Spent{WriteMore: n}
}

var _ store.Estimator = (*Store)(nil)
