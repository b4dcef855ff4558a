// Package store declares what the runtime needs of durable storage. Package
// storetest is the contract that every backend passes; package memory is the
// in-memory backend.
//
// A thread is one HEAD (see package thread) and the records around it. Records
// are put before the HEAD that makes them visible; a reader reads the HEAD
// first and the log up to its Seq: a gap is [ErrCorrupt], an orphan behind it
// is invisible, but for results that the HEAD marks done.
//
// A record that is read by its name proves nothing alone, since a refused write
// may have left it: the HEAD, the run record or the log must confirm it.
//
// Beside the threads lie profiles, values that several of them share, and
// snapshots of the configuration that runs are pinned to. Neither
// takes part in a commit. What runs have used is put
// with the commit that ends a stretch of a run.
//
// # What a store promises
//
// In parentheses stand the tests that show it; a name without Test is a clause of
// storetest, which every backend passes.
//
//   - What a method has returned for is stored, and any other process finds it, also
//     after a kill or a power cut (WhatIsAcknowledgedOutlivesTheProcess,
//     TestKilledProcessLosesNothingThatReturned, TestEveryWriteIsThereAfterAKill,
//     TestPowerLoss).
//   - Each version of a head is written once. Of racing Commits one wins, and the
//     others get the stored head back. All calls of a thread have one order that
//     explains their answers (OneOfRacingCommitsWins, WrongVersionReturnsTheStoredHead,
//     TestHistoriesAreLinearizable).
//   - Whoever sees a head finds each record and pointer that was committed with it.
//     A Commit that was refused or cut off leaves at most records and pointers that
//     no head names (WhatAHeadCoversIsThere, AStoppedCommitIsNeverHalfVisible,
//     OrphansStayBehindTheHead).
//   - No paused worker overwrites what a later claim has stored, whatever its clock
//     says (PutOfALogRecord, PutOfARewritableRecord, AnAdoptedRecordTakesTheFence,
//     AStoppedCommitBlocksNobody).
//   - Reads of heads, records, logs and pointers show every write that returned
//     before they began (HeadIsReadBackAtOnce, LogShowsAPutAtOnce). A log that lacks a
//     record is found out, and one whose reading is cut off never looks like a whole
//     one (LogLeavesOutWhatIsMissing, TestReadFindsGaps, ACancelledLogIsNeverShort).
//   - [ErrFenced], [ErrConflict], [ErrTooLarge] and a refused head are known: the
//     record, or the head, was not written (ARefusedRecordIsNamed,
//     CommitTakesNoMoreThanTheLimit, PointersTakeNoMoreThanTheLimit). After any other
//     error nobody knows: the write may have happened, or may yet. To send it again
//     is safe: equal bytes are no refusal, and a head with the caller's own commit id
//     was its own (ARepeatedCommitMeetsItself, ARepeatedCommitChangesNothingLater,
//     AStoppedCommitIsRepeated).
//   - Lists (what is due, waits or is listed) may be late, and lose nothing: who acts on them reads the
//     head first (DueTimeMovesWithTheHead, WaitingGoesWithTheTicket,
//     TestApprovalsAreConfirmedByTheirHeads).
//   - What a run has used is recorded once for each stretch, in one hour, and outlives its
//     thread. A sum that does not have all records of its hour has a mark beside it
//     (UsageIsRewrittenByFenceAndVersion, UsageOfAPastHourMarksIt,
//     AnOlderSumOfUsageIsRefused, UsageOutlivesItsThread).
//   - Tenants and threads never meet (ThreadsNeverMeet, KeysThatFailCheckAreInvalid).
//   - Damage is an error of what it touches, and never other content
//     (TestDamageConcernsItsThreadAlone, TestNoDamageHidesWhatIsStored).
//
// # What the runtime makes of it
//
//   - Input that was accepted is read by one step and is in the log once, also when its
//     response was lost and it is sent again (TestEnqueueWithLostResponseIsQueuedOnce,
//     TestInputWithLostResponseIsReadOnce, TestPausedFirstTryAndItsRetryStoreTheMessageOnce).
//   - A commit by a step is applied once, also when its response was lost
//     (TestHoldersWriteWithoutAResponseIsAppliedOnce).
//   - A tool runs at least once, under one idempotency key; whose result is stored
//     never runs again. One that is declared AtMostOnce starts once, and after a crash
//     its result may be that nobody knows (TestStoredResultIsAdoptedUnderTheNewFence,
//     TestToolThatMayHaveRun, TestAtMostOnceIsMarkedJustBeforeItStarts).
//   - The model is asked again after a crash, within a budget that crashes do not
//     renew (TestTheBudgetOfModelCallsSurvivesACrash).
//   - A ticket is decided once; the same decision again changes nothing
//     (TestEachSuspensionOfACallIsDecidedOnce, TestDecisionWhoseResponseIsLost,
//     TestKilledWaitIsDecidedAfterRestart).
//   - A run ends once, and each of its calls has one result before anything follows
//     (TestRunEndRunsOnceWithTheRealTermination, TestNothingIsViolatedInAnyKindOfWorld).
//   - Effects run behind the write that shows what they came with, at most once: a
//     crash may lose them, and nothing else (TestEffectsAfterTheCommit,
//     TestEffectsOfACallRunWithTheWriteThatMovesItToDone).
//   - The events of a run have one order: their positions are the same live, replayed
//     and after a takeover, and what was shown of an attempt is where its text begins
//     (TestReplayHasThePositionsOfTheLiveStream, TestPositionsOfAStreamAndOfItsReplay,
//     TestPositionsAfterATakeover).
//   - Work whose process or wake-up is gone goes on within the lease and two sweeps,
//     on DynamoDB three minutes more; on the local host at its restart
//     (TestNothingIsViolatedInAnyKindOfWorld, TestLostHintsAreFoundBySweep,
//     TestKilledRunFinishesAfterRestart).
//   - A program leaves alone what only a newer one can read, and loses none of its
//     fields (TestAHeadOfANewerProgramIsASchemaError,
//     TestUnknownFieldsOfTheRunRecordAreKept, TestRecordsKeepWhatThisProgramDoesNotWrite,
//     TestAnotherProgramsFieldIsCarriedThroughTheCodec).
//
// # What is not promised
//
//   - That a tool, or anything outside of the store, happens exactly once: the
//     idempotency key is for the other side to make it so.
//   - An order between threads. Clocks decide when something is done, never what.
//   - That a lost disk can be replaced: the local host's file is one copy.
//   - That a restored backup knows what came after it. It is the store as it was:
//     what was acknowledged since is gone without a word, and runs that were open then
//     go on from there, under keys that other systems may have seen with other
//     arguments. End every worker first, since the fences of the lost time would refuse
//     the new ones (TestARestoredCopyIsTheFileAsItWas).
//   - Two regions that both write: where the last writer wins, no compare-and-set and
//     no fence holds. A thread has one home.
package store
