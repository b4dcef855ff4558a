package emf

import (
	"slices"

	"github.com/reveille-run/reveille/core"
	"github.com/reveille-run/reveille/core/model"
)

// namespace is that of the metrics.
const namespace = "Reveille"

// Metric is a metric in the namespace Reveille of CloudWatch. It counts under the dimension
// Stack alone, and under Stack with each of its other dimensions.
type Metric struct {
	Name    string
	Unit    string              // as CloudWatch calls it
	By      map[string][]string // the values of its other dimensions, by their names; nil: it has none
	Meaning string              // a sentence
}

// Count is the largest number of CloudWatch metrics that it becomes: one for each value of each
// dimension.
func (m Metric) Count() int {
	n := 1
	for _, values := range m.By {
		n += len(values)
	}
	return n
}

// other is the value of a dimension for everything that has none of its own.
const other = "other"

// waiting is the outcome of a run that waits for a decision.
const waiting = "waiting"

// The values of dimensions. A code or a kind that is missing here counts as other, and
// its line has it in the field reason.
var (
	functions = []string{"api", "stream", "step", "sweep", "trigger"}
	outcomes  = []string{
		waiting, string(core.TerminationNatural), string(core.TerminationBehavior), string(core.TerminationStopped), string(core.TerminationCancelled),
		string(core.TerminationBlocked), string(core.TerminationSuperseded), string(core.TerminationError), other,
	}
	codes = []string{
		"model", "rate_limited", "context_overflow", codeDeadLetter, "timeout", "resolution", "tool", "plugin", "corrupt", other,
	}
	letters = []string{letterRun, letterWakeUp, letterThread}
	kinds   = append(slices.Clone(providerKinds), string(model.KindOverflow), string(model.KindFiltered), other)
)

// providerKinds are the kinds of failures that a provider, or the deployment's access to it,
// has caused. The others come from what was asked, and count under their kind alone.
var providerKinds = []string{
	string(model.KindProvider), string(model.KindRateLimited), string(model.KindOverloaded), string(model.KindTimeout), string(model.KindInterrupted),
	string(model.KindUnauthorized), string(model.KindNotFound), string(model.KindQuota), string(model.KindInvalid),
}

// The codes of ends that have a metric of their own.
const (
	codeDeadLetter = "dead_letter"
	codeExpired    = "expired"
)

// The kinds of dead letters.
const (
	letterRun    = "run"
	letterWakeUp = "wake_up"
	letterThread = "thread"
)

// metrics are all metrics, by their names.
var metrics = []Metric{
	{"Runs", "Count", map[string][]string{"Outcome": outcomes}, "Runs that ended, by their outcome. Under the outcome waiting: times that a run started to wait."},
	{"Failed", "Count", map[string][]string{"Code": codes, "Function": functions}, "Runs that ended with an error, by its code and by the function that ended them. A decision that expired does not count."},
	{"Expired", "Count", nil, "Runs that ended because a decision did not come in time."},
	{"DeadLetters", "Count", map[string][]string{"Kind": letters}, "Runs that were given up after five attempts, wake-ups that failed five times, and damaged threads that were quarantined."},
	{"ModelErrors", "Count", map[string][]string{"Kind": kinds}, "Calls of models that failed, also those that were repeated. Without a kind, only those that the provider or the access to it caused."},
	{"LateWakeUps", "Count", nil, "Steps that started more than a minute after they were due."},
	{"Lateness", "Milliseconds", nil, "The time between the due time and the start of each of these steps."},
}

// Metrics returns all metrics that the lines of this package have, and no others.
func Metrics() []Metric { return slices.Clone(metrics) }

// within returns a value of a closed list, or other.
func within(list []string, value string) string {
	if slices.Contains(list, value) {
		return value
	}
	return other
}
