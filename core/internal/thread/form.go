package thread

// Form is how much of a run's end has been stored. A store refuses records over its
// limit, and no run stays open for that: its end then takes the next smaller form,
// the last of which fits into every store. Each form also omits everything that the
// earlier forms do. It is part of an [Ending]: a claim that takes over a run which is
// closing takes no larger one.
type Form uint8

// The forms.
const (
	FormWhole     Form = iota // everything
	FormBare                  // the run's record is without the request and the frontend that came with the input
	FormCut                   // its response is cut to MaxLeast bytes; the log has the whole of it
	FormStateless             // no state changes come with the end: those of RunEnd, of calls that it settles, and of taking back what the input supersedes
	FormLeast                 // each record of the end has at most MinPayload bytes: texts that no other record has are cut as well
)

// MinPayload is the smallest limit of a record's payload that a store may have, in bytes.
// The records of an end in its last form are never larger.
const MinPayload = 8 << 10

// MaxLeast bounds a text that was cut for a smaller form, in encoded bytes.
const MaxLeast = 1 << 10

var formNames = [...]string{"whole", "bare", "cut", "stateless", "least"}

// String returns the form's name.
func (f Form) String() string {
	if int(f) < len(formNames) {
		return formNames[f]
	}
	return "unknown"
}
