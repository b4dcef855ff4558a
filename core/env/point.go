package env

// Point names one I/O operation of the protocol. Crash tests kill the process
// at each; the simulator injects its faults there.
type Point string

// The points. E: enqueue, W: the work on one dispatch, H: a person's decision,
// S: the sweep.
const (
	PointEnqueue       Point = "E3"  // HEAD: enqueue, with the queued input
	PointHint          Point = "E4"  // the wake-up is sent
	PointRespond       Point = "E5"  // the caller gets its response
	PointReceive       Point = "W1"  // a wake-up is received
	PointClaim         Point = "W2"  // HEAD: claim
	PointReadLog       Point = "W3"  // the log's tail is read
	PointModel         Point = "W4"  // the model is called
	PointCommitTurn    Point = "W6"  // HEAD: commit A, with the assistant turn
	PointTool          Point = "W7"  // a tool runs
	PointPutResult     Point = "W8"  // its result is put alone, at its reserved sequence
	PointCommitStep    Point = "W9"  // HEAD: commit B, with the step's last result and record
	PointContinue      Point = "W10" // the continuation's wake-up is sent
	PointDeleteMessage Point = "W11" // the queue message is deleted
	PointDecide        Point = "H2"  // HEAD: decide, with the decision
	PointDecisionHint  Point = "H3"  // its wake-up is sent
	PointDue           Point = "S1"  // overdue threads are listed
	PointSweepHint     Point = "S2"  // an overdue thread is woken
)

var points = [...]Point{
	PointEnqueue, PointHint, PointRespond,
	PointReceive, PointClaim, PointReadLog, PointModel, PointCommitTurn,
	PointTool, PointPutResult, PointCommitStep, PointContinue, PointDeleteMessage,
	PointDecide, PointDecisionHint, PointDue, PointSweepHint,
}

// Points lists every point in protocol order.
func Points() []Point { return append([]Point(nil), points[:]...) }

// Side says whether the operation is about to start or has just ended.
type Side string

// The sides of a point.
const (
	Before Side = "before"
	After  Side = "after"
)
