package env

// Point names one I/O operation of the protocol. Crash tests kill the process
// at each; the simulator injects its faults there.
type Point string

// The points. E: enqueue, W: the work on one dispatch, H: a person's decision,
// S: the sweep.
const (
	PointPutInput      Point = "E2"  // the queued input is put
	PointEnqueue       Point = "E3"  // HEAD: enqueue
	PointHint          Point = "E4"  // the wake-up is sent
	PointAnswer        Point = "E5"  // the caller is answered
	PointReceive       Point = "W1"  // a wake-up is received
	PointClaim         Point = "W2"  // HEAD: claim
	PointReadLog       Point = "W3"  // the log's tail is read
	PointModel         Point = "W4"  // the model is called
	PointPutTurn       Point = "W5"  // the assistant turn is put
	PointCommitTurn    Point = "W6"  // HEAD: commit A
	PointTool          Point = "W7"  // a tool runs
	PointPutResult     Point = "W8"  // its result is put at its reserved sequence
	PointCommitStep    Point = "W9"  // HEAD: commit B
	PointContinue      Point = "W10" // the continuation's wake-up is sent
	PointDeleteMessage Point = "W11" // the queue message is deleted
	PointPutDecision   Point = "H1"  // the decision is put
	PointDecide        Point = "H2"  // HEAD: decide
	PointDecisionHint  Point = "H3"  // its wake-up is sent
	PointDue           Point = "S1"  // overdue threads are listed
	PointSweepHint     Point = "S2"  // an overdue thread is woken
)

var points = [...]Point{
	PointPutInput, PointEnqueue, PointHint, PointAnswer,
	PointReceive, PointClaim, PointReadLog, PointModel, PointPutTurn, PointCommitTurn,
	PointTool, PointPutResult, PointCommitStep, PointContinue, PointDeleteMessage,
	PointPutDecision, PointDecide, PointDecisionHint, PointDue, PointSweepHint,
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
