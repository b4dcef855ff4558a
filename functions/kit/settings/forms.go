package settings

import "strings"

// The forms of values are checked by hand: the compilation of regular expressions took a
// twentieth of a function's start.

const (
	digits = "0123456789"
	lower  = "abcdefghijklmnopqrstuvwxyz"
	upper  = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
)

// isOf reports whether v is not empty and has only characters of set.
func isOf(v, set string) bool { return v != "" && strings.Trim(v, set) == "" }

// isBucket reports whether v can be the name of an S3 bucket: 3 to 63 small letters,
// digits, dots and hyphens, a letter or digit at both ends.
func isBucket(v string) bool {
	return len(v) >= 3 && len(v) <= 63 && isOf(v, lower+digits+".-") && strings.Trim(v, ".-") == v
}

// isDomain reports whether v is a DNS name without the final dot: labels of small letters,
// digits, underscores and hyphens. No label begins or ends with a hyphen.
func isDomain(v string) bool {
	for label := range strings.SplitSeq(v, ".") {
		if !isOf(label, lower+digits+"_-") || strings.Trim(label, "-") != label {
			return false
		}
	}
	return true
}

// isPrincipal reports whether v is an id that may have a tenant: an identity pool's
// (REGION:UUID), a user's or role's (AIDA..., AROA...), an account's.
func isPrincipal(v string) bool {
	if region, id, ok := strings.Cut(v, ":"); ok {
		return isOf(region, lower+digits+"-") && len(id) == 36 && isOf(id, digits+"abcdef-")
	}
	if strings.HasPrefix(v, "AIDA") || strings.HasPrefix(v, "AROA") {
		return isOf(v[4:], upper+digits)
	}
	return isAccount(v)
}

// isAccount reports whether v is the number of an AWS account.
func isAccount(v string) bool { return len(v) == 12 && isOf(v, digits) }

// isBus reports whether v is the name of an event bus, of at most 256 characters, or its
// ARN: arn:PARTITION:events:REGION:ACCOUNT:event-bus/NAME.
func isBus(v string) bool {
	if part := strings.SplitN(v, ":", 6); len(part) == 6 {
		partition, inAWS := strings.CutPrefix(part[1], "aws")
		name, ok := strings.CutPrefix(part[5], "event-bus/")
		if part[0] != "arn" || !inAWS || partition != "" && !isOf(partition, lower+"-") ||
			part[2] != "events" || !isOf(part[3], lower+digits+"-") || !isAccount(part[4]) || !ok {
			return false
		}
		v = name
	}
	return len(v) <= 256 && isOf(v, upper+lower+digits+"/._-")
}

// isStackName reports whether v can be the name of a stack: at most 128 letters, digits and
// hyphens, a letter first.
func isStackName(v string) bool {
	return len(v) <= 128 && isOf(v, upper+lower+digits+"-") && strings.Trim(v[:1], upper+lower) == ""
}

// isStack reports whether v is the name of a stack or its ARN:
// arn:PARTITION:cloudformation:REGION:ACCOUNT:stack/NAME/ID.
func isStack(v string) bool {
	part := strings.SplitN(v, ":", 6)
	if len(part) != 6 {
		return isStackName(v)
	}
	partition, inAWS := strings.CutPrefix(part[1], "aws")
	path, ok := strings.CutPrefix(part[5], "stack/")
	name, id, _ := strings.Cut(path, "/")
	return part[0] == "arn" && inAWS && (partition == "" || isOf(partition, lower+"-")) && part[2] == "cloudformation" &&
		isOf(part[3], lower+digits+"-") && isAccount(part[4]) && ok && isStackName(name) && isOf(id, lower+digits+"-")
}
