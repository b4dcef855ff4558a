// Package store declares the durable storage that the runtime needs. Package storetest is
// the contract that every backend passes. Package memory is the in-memory backend.
//
// A thread is one HEAD (see package thread) and its records. Records are stored before the
// HEAD that makes them visible. A reader reads the HEAD first, then the log up to the HEAD's
// Seq. A gap in that range is [ErrCorrupt]. A record after it is invisible, except a result
// that the HEAD marks as done.
//
// A record that a reader finds by its name proves nothing alone, since a refused write may
// have stored it. The HEAD, the run record or the log must confirm it.
//
// The store also holds profiles, which are values that several threads share, and snapshots
// of the configuration that runs are pinned to. Neither takes part in a commit. The usage of
// runs is stored with the commit that ends a stretch of a run.
//
// # What a store promises
//
// The names in parentheses are the tests of each promise. A name without Test is a clause of
// storetest, which every backend passes.
//
//   - When a method has returned without an error, its write is stored. Any other process
//     finds it, also after a kill or a power cut (WhatIsAcknowledgedOutlivesTheProcess,
//     TestKilledProcessLosesNothingThatReturned, TestEveryWriteIsThereAfterAKill,
//     TestPowerLoss).
//   - Each version of a head is written once. One of several racing Commits wins, and the
//     others receive the stored head. All calls of a thread have one order that explains
//     their results (OneOfRacingCommitsWins, WrongVersionReturnsTheStoredHead,
//     TestHistoriesAreLinearizable).
//   - A reader of a head finds each record and pointer that was committed with it. A Commit
//     that was refused or interrupted leaves at most records and pointers that no head names
//     (WhatAHeadCoversIsThere, AStoppedCommitIsNeverHalfVisible, OrphansStayBehindTheHead).
//   - A paused worker cannot overwrite the records of a later claim, even if its clock is wrong
//     (PutOfALogRecord, PutOfARewritableRecord, AnAdoptedRecordTakesTheFence,
//     AStoppedCommitBlocksNobody).
//   - A read of a head, record, log or pointer returns every write that returned before the
//     read started (HeadIsReadBackAtOnce, LogShowsAPutAtOnce). A reader detects a log that
//     lacks a record, and an interrupted read of a log never looks complete
//     (LogLeavesOutWhatIsMissing, TestReadFindsGaps, ACancelledLogIsNeverShort). A cheaper
//     read that returns old records is never believed before their checksums match, see
//     [EventualLog] (EventualLogHasOnlyWhatWasPut, TestTheReaderOfALogThatLags,
//     TestBackwardsReadsTheLogAsItIs, TestBackwardsFindsDamage).
//   - [ErrFenced], [ErrConflict], [ErrTooLarge] and a refused head have a known outcome: the
//     record, or the head, was not written (ARefusedRecordIsNamed,
//     CommitTakesNoMoreThanTheLimit, PointersTakeNoMoreThanTheLimit). After any other error
//     the outcome is unknown: the write may have happened, or may happen later. To send it
//     again is safe. Equal bytes are not refused, and a head with the caller's commit id was
//     the caller's own write (ARepeatedCommitMeetsItself,
//     ARepeatedCommitChangesNothingLater, AStoppedCommitIsRepeated).
//   - Lists (of due, waiting or listed threads) may be late, but lose nothing. A caller reads
//     the head before it acts on an entry (DueTimeMovesWithTheHead,
//     WaitingGoesWithTheTicket, TestApprovalsAreConfirmedByTheirHeads).
//   - The usage of a run is recorded once for each stretch, in one hour, and outlives its
//     thread. If a sum may lack records of its hour, a mark is stored next to it
//     (UsageIsRewrittenByFenceAndVersion, UsageOfAPastHourMarksIt,
//     AnOlderSumOfUsageIsRefused, UsageOutlivesItsThread).
//   - Tenants and threads are separate (ThreadsNeverMeet, KeysThatFailCheckAreInvalid).
//   - Damage is an error for the data that it affects, and never changes other data
//     (TestDamageConcernsItsThreadAlone, TestNoDamageHidesWhatIsStored).
//
// # What the runtime adds
//
//   - Accepted input is read by one step and is in the log once, even if its response was
//     lost and a client sends it again (TestEnqueueWithLostResponseIsQueuedOnce,
//     TestInputWithLostResponseIsReadOnce, TestPausedFirstTryAndItsRetryStoreTheMessageOnce).
//   - A commit by a step is applied once, even if its response was lost
//     (TestHoldersWriteWithoutAResponseIsAppliedOnce).
//   - A tool runs at least once, under one idempotency key. A call with a stored result never
//     runs again. A tool that is declared AtMostOnce starts once, and after a crash its
//     result may be that the outcome is unknown (TestStoredResultIsAdoptedUnderTheNewFence,
//     TestToolThatMayHaveRun, TestAtMostOnceIsMarkedJustBeforeItStarts).
//   - The model is called again after a crash, within a budget that crashes do not renew
//     (TestTheBudgetOfModelCallsSurvivesACrash).
//   - A ticket is decided once. The same decision again changes nothing
//     (TestEachSuspensionOfACallIsDecidedOnce, TestDecisionWhoseResponseIsLost,
//     TestKilledWaitIsDecidedAfterRestart).
//   - A run ends once, and each of its calls has one result before the next turn
//     (TestRunEndRunsOnceWithTheRealTermination, TestNothingIsViolatedInAnyKindOfWorld).
//   - Effects run after the write that makes their cause visible, at most once. A crash may
//     lose them, and nothing else (TestEffectsAfterTheCommit,
//     TestEffectsOfACallRunWithTheWriteThatMovesItToDone).
//   - The events of a run have one order. Their positions are the same live, replayed and
//     after a takeover. The text that a client has received of an attempt is the start of the
//     attempt's text (TestReplayHasThePositionsOfTheLiveStream,
//     TestPositionsOfAStreamAndOfItsReplay, TestPositionsAfterATakeover).
//   - If a process or a wake-up is lost, the work resumes within the lease and two sweeps. On
//     DynamoDB it can take three minutes more. The local host resumes it at its restart
//     (TestNothingIsViolatedInAnyKindOfWorld, TestLostHintsAreFoundBySweep,
//     TestKilledRunFinishesAfterRestart).
//   - A program leaves records alone that only a newer program can read, and keeps the fields
//     that it does not know (TestAHeadOfANewerProgramIsASchemaError,
//     TestUnknownFieldsOfTheRunRecordAreKept, TestRecordsKeepWhatThisProgramDoesNotWrite,
//     TestAnotherProgramsFieldIsCarriedThroughTheCodec).
//
// # What is not promised
//
//   - That a tool, or any other change outside of the store, happens exactly once. The other
//     system can use the idempotency key for that.
//   - An order between threads. Clocks decide when something is done, never what.
//   - That a lost disk can be replaced: the local host's file is one copy.
//   - That a restored backup knows later writes. The restored store is the store of the
//     backup. Later writes are lost silently. Runs that were open then resume from there,
//     under keys that other systems may have seen with other arguments. End every worker
//     before you restore, since the fences of the lost time would refuse the new ones
//     (TestARestoredCopyIsTheFileAsItWas). A restore into new tables has no fences of the
//     lost time. Objects are named by their content, so one of the lost time is never read
//     in place of another.
//   - Two regions that both write. If the last writer wins, no compare-and-set and no fence
//     holds. A thread has one home.
package store
