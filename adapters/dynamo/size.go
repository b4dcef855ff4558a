package dynamo

import (
	"strings"

	"github.com/aws/aws-sdk-go-v2/service/dynamodb/types"
)

// itemSize is an item's size in bytes as DynamoDB counts it: attribute names
// and values, for the types that this package uses.
func itemSize(it item) int {
	size := 0
	for name, value := range it {
		size += len(name)
		switch v := value.(type) {
		case *types.AttributeValueMemberS:
			size += len(v.Value)
		case *types.AttributeValueMemberB:
			size += len(v.Value)
		case *types.AttributeValueMemberN:
			size += numberSize(v.Value)
		default:
			size++ // a boolean
		}
	}
	return size
}

// numberSize is one byte, and one more for every two significant digits, and
// one for a minus sign. Leading and trailing zeros do not count.
func numberSize(decimal string) int {
	digits := strings.TrimPrefix(decimal, "-")
	sign := len(decimal) - len(digits)
	return 1 + (len(strings.Trim(digits, "0"))+1)/2 + sign
}
