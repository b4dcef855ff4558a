package thread

// ChangeKind has the rules of every change of one type, for every head: a row of the
// table of transitions below. Code that needs the sort of a change reads it there:
// see [KindOf].
type ChangeKind struct {
	Name  string // as the scripts in testdata have it
	Stage Stage
	// Holder: it is a commit by the holder of a claim. The head then keeps its commit
	// id until a holder's next one, also after writes of others. So a holder that got
	// no response finds out whether its write was applied. Claims and renewed leases
	// do not count: each would hide the commit before it.
	Holder bool
	// Worker: its writer has the claim until then or from then on. The spending of
	// its process on the run goes with the write, and the writer delivers the
	// announcements of the write itself. A renewed lease is not one: it is written
	// concurrently with the work.
	Worker bool
	// Progress: it may take the run further, or start its end. Earlier attempts do
	// not count against the run any more.
	Progress bool
	// Places: it asks for a place in a bounded table, so that it can be refused with
	// [ErrFull]. No other change ever is.
	Places bool
	// Wakes: a hint follows it whenever the next head has something to claim. For
	// other changes that is so only if they release a claim.
	Wakes bool
	// Deleted: a deleted thread takes it. Others are refused with [ErrDeleted].
	Deleted bool
}

// Stage is the place of a change in the life of a run. Test builds end the process at
// the I/O of each stage.
type Stage uint8

// The stages.
const (
	StageStep   Stage = iota // the commit of a step, and every change without a stage
	StageSubmit              // input comes, or is changed before a step read it
	StageClaim
	StageTurn   // a turn is visible, its round is open
	StageDecide // a person continues a run or ends it
)

// KindOf returns the row of a change's type.
func KindOf(c Change) ChangeKind { return c.kind() }

// The table of transitions. A type without a row cannot be a [Change].

func (Create) kind() ChangeKind { return ChangeKind{Name: "create"} }
func (Fork) kind() ChangeKind   { return ChangeKind{Name: "fork"} }

func (Enqueue) kind() ChangeKind {
	return ChangeKind{Name: "enqueue", Stage: StageSubmit, Places: true, Wakes: true}
}

func (EnqueueAndClaim) kind() ChangeKind {
	return ChangeKind{Name: "enqueue-and-claim", Stage: StageSubmit, Worker: true, Places: true, Wakes: true}
}

func (Input) kind() ChangeKind {
	return ChangeKind{Name: "input", Stage: StageSubmit, Progress: true, Places: true, Wakes: true}
}

func (Edit) kind() ChangeKind    { return ChangeKind{Name: "edit", Stage: StageSubmit} }
func (Retract) kind() ChangeKind { return ChangeKind{Name: "retract", Stage: StageSubmit} }

func (Interrupt) kind() ChangeKind {
	return ChangeKind{Name: "interrupt", Stage: StageSubmit, Progress: true, Places: true, Wakes: true}
}

func (TakeClaim) kind() ChangeKind {
	return ChangeKind{Name: "claim", Stage: StageClaim, Worker: true, Progress: true}
}

func (Reclaim) kind() ChangeKind {
	return ChangeKind{Name: "reclaim", Stage: StageClaim, Wakes: true}
}

func (Refence) kind() ChangeKind {
	return ChangeKind{Name: "refence", Holder: true, Worker: true}
}

func (AddChild) kind() ChangeKind    { return ChangeKind{Name: "add-child"} }
func (DropChild) kind() ChangeKind   { return ChangeKind{Name: "drop-child"} }
func (ExtendLease) kind() ChangeKind { return ChangeKind{Name: "extend-lease"} }
func (Touch) kind() ChangeKind       { return ChangeKind{Name: "touch"} }

func (CommitTurn) kind() ChangeKind {
	return ChangeKind{Name: "commit-turn", Stage: StageTurn, Holder: true, Worker: true, Progress: true}
}

func (Suspend) kind() ChangeKind {
	return ChangeKind{Name: "suspend", Stage: StageTurn, Holder: true, Worker: true, Progress: true}
}

func (CommitStep) kind() ChangeKind {
	return ChangeKind{Name: "commit-step", Holder: true, Worker: true, Progress: true}
}

func (CommitClose) kind() ChangeKind {
	return ChangeKind{Name: "commit-close", Holder: true, Worker: true}
}

func (Nack) kind() ChangeKind {
	return ChangeKind{Name: "nack", Holder: true, Worker: true, Progress: true}
}

func (Decide) kind() ChangeKind {
	return ChangeKind{Name: "decide", Stage: StageDecide, Progress: true, Wakes: true}
}

func (Cancel) kind() ChangeKind {
	return ChangeKind{Name: "cancel", Stage: StageDecide, Progress: true, Wakes: true}
}

func (Send) kind() ChangeKind      { return ChangeKind{Name: "send", Places: true, Wakes: true} }
func (Delivered) kind() ChangeKind { return ChangeKind{Name: "delivered", Deleted: true} }
func (Delete) kind() ChangeKind    { return ChangeKind{Name: "delete", Deleted: true} }
