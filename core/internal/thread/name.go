package thread

import "strconv"

// String returns the status's name.
func (s Status) String() string { return name(s, "running", "waiting", "closing") }

// String returns the reason's name.
func (r Reason) String() string {
	return name(r, "none", "own", "cancelled", "superseded", "expired", "dead-letter")
}

// String returns the cursor's name.
func (c Cursor) String() string { return name(c, "start", "infer", "tools") }

// String returns the status's name.
func (s CallStatus) String() string {
	return name(s, "new", "running", "suspended", "resuming", "cancelling", "done")
}

// String returns the kind's name.
func (k TicketKind) String() string { return name(k, "person", "client", "child", "timer") }

// String returns the kind's name.
func (k InboxKind) String() string { return name(k, "person", "internal") }

// String returns the kind's name.
func (k NackKind) String() string { return name(k, "failed", "given", "model", "lacks") }

// String returns the kind's name.
func (k OutboxKind) String() string {
	return name(k, "none", "child-ended", "cancel", "message", "waiting", "ended", "dead-lettered")
}

func name[T ~uint8](v T, names ...string) string {
	if int(v) < len(names) {
		return names[v]
	}
	return strconv.Itoa(int(v))
}
