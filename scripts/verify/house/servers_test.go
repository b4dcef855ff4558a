package house

import (
	"strings"
	"testing"
)

// TestTheServerThatIsStartedIsStopped: aws-down.sh looks for the program that aws-up.sh starts.
// When it looked for another name, a server was still running after each make test-wire.
func TestTheServerThatIsStartedIsStopped(t *testing.T) {
	const asks = `grep -q 'aws_server\.py'`
	if up := read(t, "scripts/verify/aws-up.sh"); !strings.Contains(up, `"$python" scripts/verify/aws_server.py --host`) || !strings.Contains(up, asks) {
		t.Errorf("aws-up.sh does not start aws_server.py and does not ask whether it runs by %s", asks)
	}
	if !strings.Contains(read(t, "scripts/verify/aws-down.sh"), asks) {
		t.Errorf("aws-down.sh does not ask whether aws_server.py runs by %s", asks)
	}
}
