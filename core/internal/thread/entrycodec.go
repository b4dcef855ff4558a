package thread

import "github.com/reveille-run/reveille/core"

// An entry is stored in the wire format of Protocol Buffers: each field is a tag, its number
// times 8 plus its wire type, and a value. Of the wire types it has varint (0), bytes after
// their length (2) and four bytes (5). The tables are the specification.
//
// The fields of a level are in ascending order, repeated ones next to each other, varints in
// their shortest form, and a field that is zero, false or empty is left out. So an entry has
// one form. Anything else is damage. Fields with other numbers are a newer program's.
//
// Types: int is a varint, negative numbers as 64 bits; id is 16 bytes; text is bytes; JSON is
// text without white space between its parts; word is the varint of the word's place in its
// list, from 1, or any other word as text. Lists never change: a later word is text.
//
// Each entry has the field end, after all others: one that is cut off between two fields must
// not be taken for an entry without the fields that are missing.
//
//	Entry
//	 1 schema     int, first, so that each entry starts with the byte 0x08
//	 2 run        id             18 place      int
//	 3 step       int            19 retried    int, at most 255
//	 4 at         int            20 toolless   varints
//	 5 message    Message        21 superseded Range
//	 6 totals     Totals         22 earlier    Range, repeated
//	 7 window     Window         23 closing    int, 1
//	 8 input      id             24 decision   text
//	 9 attempt    int            25 blocked    text
//	10 prompt     id: its digits 26 arguments  JSON
//	11 patch      Operation,     27 hooks      JSON, state.Command
//	              repeated       28 intents    JSON, state.Command
//	12 revision   int            29 member     JSON, Member
//	13 duration   int            30 failed     JSON, Failure
//	14 first      int            31 attempts   JSON, array of Attempt
//	15 sum        four bytes     32 sent       JSON, Sent
//	16 queued     int            33 prompt     text, if it is not 32 digits
//	17 round      int          1000 extra      text: see Records.Extra
//	                           2047 end        int, 1
//
//	Message
//	 1 id         id, with whose  9 usage      Usage
//	              text it starts 10 model      text
//	 2 id         text, the rest 11 provider   text
//	 3 role       word           12 stop       word
//	 4 content    Block,         13 created    int
//	              repeated       14 repair     int, 1
//	 5 calls      Call, repeated 15 pending    int, 1
//	 6 result     Result         16 decided    int, 1
//	 7 run        id, or no bytes for none; left out if it is the entry's
//	 8 step       int, also 0;              left out if it is the entry's
//
//	Block                        Call                Result
//	 1 type       word           1 id        text    1 call      text
//	 2 text       text           2 name      text    2 name      text
//	 3 media type text           3 arguments JSON    3 data      JSON
//	 4 data       bytes          4 echo      JSON    4 message   text
//	 5 url        text           5 origin    text    5 error     int, 1
//	 6 filename   text                               6 status    word
//	 7 echo       JSON           Range               7 metadata  JSON
//	 8 origin     text           1 from      int     8 content   Block,
//	 9 notes      JSON, array of 2 to        int                 repeated
//	              Annotation
//	                                                 Operation
//	Usage                                            1 op        word
//	 1 input      int            Metered             2 path      text
//	 2 output     int            1 models    Use,    3 value     JSON
//	 3 read       int                        repeated
//	 4 write      int            2 tools     int     Use
//	 5 reasoning  int            3 millis    int     1 provider  text
//	 6 hour       int                                2 model     text
//	 7 long       Long           Window              3 usage     Usage
//	                             1 first     int     4 calls     int
//	Totals                       2 short     int     5 millis    int
//	 1 usage      Usage          3 summary   int
//	 2 spend      int            4 opening   int     Long
//	 3 steps      int            5 compact   int     1 input     int
//	 4 called     int            6 skipped   int     2 output    int
//	 5 failures   int            7 estimate  int     3 read      int
//	 6 errors     int            8 tokens    int     4 write     int
//	 7 repairs    int            9 refused   int, 1  5 hour      int
//	 8 calls      bytes         10 prefix    12 bytes: three numbers,
//	 9 turns      bytes                      little endian
//	10 metered    Metered
//
// A message whose id starts with the id of the entry's run has no bytes in field 1. What a
// usual turn does not have is JSON.

// The numbers of the fields of an entry.
const (
	entrySchema = 1 + iota
	entryRun
	entryStep
	entryAt
	entryMessage
	entryTotals
	entryWindow
	entryInput
	entryAttempt
	entryPrompt
	entryPatch
	entryRevision
	entryDuration
	entryFirst
	entrySum
	entryQueued
	entryRound
	entryPlace
	entryRetried
	entryToolless
	entrySuperseded
	entryEarlier
	entryClosing
	entryDecision
	entryBlocked
	entryArguments
	entryHooks
	entryIntents
	entryMember
	entryFailed
	entryAttempts
	entrySent
	entryPromptText
	entryExtra = 1000
	entryEnd   = 2047 // the last one that has a tag of two bytes
)

// The numbers of the fields of a message.
const (
	messageID = 1 + iota
	messageIDText
	messageRole
	messageContent
	messageCalls
	messageResult
	messageRun
	messageStep
	messageUsage
	messageModel
	messageProvider
	messageStop
	messageCreated
	messageRepair
	messagePending
	messageDecided
)

// level is a kind of message of the wire format.
type level struct {
	name     string
	known    int    // fields 1 to known are this program's
	repeated uint64 // bits of the fields that may be there more than once
	parts    []part // those that are levels themselves
}

type part struct {
	number int
	level  *level
}

var (
	levelEntry = level{
		name: "entry", known: entryPromptText, repeated: 1<<entryPatch | 1<<entryEarlier,
		parts: []part{{entryMessage, &levelMessage}, {entryTotals, &levelTotals}, {entryWindow, &levelWindow}, {entryPatch, &levelOperation}, {entrySuperseded, &levelRange}, {entryEarlier, &levelRange}},
	}
	levelMessage = level{
		name: "message", known: messageDecided, repeated: 1<<messageContent | 1<<messageCalls,
		parts: []part{{messageContent, &levelBlock}, {messageCalls, &levelCall}, {messageResult, &levelResult}, {messageUsage, &levelUsage}},
	}
	levelBlock     = level{name: "block", known: 9}
	levelCall      = level{name: "call", known: 5}
	levelResult    = level{name: "result", known: 8, repeated: 1 << 8, parts: []part{{8, &levelBlock}}}
	levelUsage     = level{name: "usage", known: 7, parts: []part{{7, &levelLong}}}
	levelLong      = level{name: "long", known: 5}
	levelTotals    = level{name: "totals", known: 10, parts: []part{{1, &levelUsage}, {10, &levelMetered}}}
	levelMetered   = level{name: "metered", known: 3, repeated: 1 << 1, parts: []part{{1, &levelUse}}}
	levelUse       = level{name: "use", known: 5, parts: []part{{3, &levelUsage}}}
	levelWindow    = level{name: "window", known: 12}
	levelRange     = level{name: "range", known: 2}
	levelOperation = level{name: "operation", known: 3}
)

// part is the level of a field; nil: it is not a level.
func (l *level) part(number int) *level {
	for _, p := range l.parts {
		if p.number == number {
			return p.level
		}
	}
	return nil
}

// has reports whether a field is this program's.
func (l *level) has(number int) bool {
	return number <= l.known || l == &levelEntry && (number == entryExtra || number == entryEnd)
}

// The words that are stored as their place in the list, from 1. A list never changes.
var (
	roleWords      = [...]string{string(core.RoleUser), string(core.RoleAssistant), string(core.RoleTool)}
	blockWords     = [...]string{string(core.BlockText), string(core.BlockReasoning), string(core.BlockFile)}
	operationWords = [...]string{"add", "replace", "remove"}
	stopWords      = [...]string{
		string(core.StopEndTurn), string(core.StopToolUse), string(core.StopMaxTokens), string(core.StopSequence),
		string(core.StopContentFilter), string(core.StopContextOverflow), string(core.StopOther),
	}
	statusWords = [...]string{
		string(core.ResultOK), string(core.ResultError), string(core.ResultInvalid), string(core.ResultBlocked), string(core.ResultDenied),
		string(core.ResultSet), string(core.ResultCancelled), string(core.ResultNotExecuted), string(core.ResultUnknown),
	}
)

// entrySchemaOf is the schema number that an encoded entry begins with; ok is false if it
// does not begin with one.
func entrySchemaOf(b []byte) (n uint64, ok bool) {
	if len(b) == 0 || b[0] != entrySchema<<3|wireVarint {
		return 0, false
	}
	n, size := shortest(b[1:])
	return n, size > 0
}

// entryExtraOf is the extra field of an entry; "": it has none.
func entryExtraOf(b []byte) string {
	for f := (fieldReader{d: &entryDecoder{}, level: &levelEntry, b: b}); f.next(); {
		if f.number == entryExtra {
			return string(f.raw())
		}
	}
	return ""
}
