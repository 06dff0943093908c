package locking

import (
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// TestEveryRuleHasItsTests lists the rules of the locks, each with the tests that fail without it, and checks that these exist. Every
// history of locksim checks most of them as well.
func TestEveryRuleHasItsTests(t *testing.T) {
	t.Parallel()
	code := testCode(t)
	for rule, tests := range map[string]string{
		"The holder of a lock keeps others out. A writer keeps out readers, and readers a writer.": `
			TestMutexExcludesOwnersOfAllProcesses TestFifoScriptExcludes`,
		"A hold trusts its lease from when the request was sent, less a margin: taken, renewed or handed on.": `
			TestLeaseCountsFromTheQuestion TestRenewedLeaseCountsFromTheQuestion TestLeaseIsHandedOnAsItIs
			TestOldLeaseIsHandedOnByAScript TestLeaseInMilliseconds`,
		"An answer, a grant or a handoff that comes too late does not count.": `
			TestAnswerThatComesTooLateGrantsNothing TestGrantThatComesTooLateIsGivenBack TestHandoffTakenTooLateIsGivenBack
			TestHandoffOfALostLeaseDoesNotArrive TestHandoffThatTheServerForgotDoesNotArrive`,
		"An attempt without an answer leaves nothing, nor does its late copy.": `
			TestLateCopyOfACancelledAcquireTakesNothing TestFifoLateCopyOfACancelledAcquireTakesNothing
			TestFifoWaiterWithoutAConnectionLeavesNothing TestCancelledAttemptFindsItsTombstone TestLostAnswerToAWaiter
			TestRefusedTryArrivesAgain`,
		"An abandoned attempt is not sent.": `
			TestAttemptIsGivenUpBeforeItIsSent`,
		"A late copy of a released attempt takes nothing, and an outdated request changes nothing.": `
			TestLateCopyOfAReleasedAcquireTakesNothing TestReplayedScriptChangesNothing TestLateReleaseFreesNoLaterGrant
			TestScriptsNameTheirHolder TestFifoScriptReplayGetsTheSameAnswer TestReleaseSentTwiceAfterTheDeadlineIsALoss
			TestLinearizable`,
		"Renewal, release and re-entry belong to the grant, under its name.": `
			TestScriptsNameTheirHolder TestFifoScriptsNameTheirHolder TestFifoScriptReplayGetsTheSameAnswer
			TestFifoScriptReadersExpireByThemselves TestReentryOfAForgottenLockLosesTheOuterHold TestOlderSnapshotGivesNoLockBack
			TestUnlockOfALapsedHold`,
		"An owner has one grant. A pending re-entry keeps it alive, and queues if the grant is gone.": `
			TestRedLockGivesOneOwnersCallersOneGrant TestSiblingsThatTryAtOnceAllGetTheLock TestSiblingsAtOnce
			TestReentryThatComesTooLate TestReentryThatComesToNothing TestReentryUnderWay`,
		"An unlock of a lost hold says so at once, whatever the server does. It leaves nothing and touches no successor.": `
			TestUnlockKnowsAtOnceThatAHoldIsLost TestUnlockOfALostMultiLockLeavesNothing TestUnlockKnowsThatTheLeaseIsOver
			TestUnlockOfALostHoldLeavesTheSuccessorAlone`,
		"An unlock without an answer is repeated, also during another unlock of the owner.": `
			TestUnconfirmedReleaseIsRepeated TestTwoUnlocksOfAServerThatStandsStill`,
		"A re-entry shortens no deadline and adds nothing to another hold's lease. A release is no renewal. The next owner after a long hold has a whole lease.": `
			TestReentryKeepsEachDeadline TestRWShorterInnerLeaseDoesNotShortenTheOuter TestReleaseIsNoRenewal
			TestReleaseLeavesAFullLease TestNextOwnerAfterALongHoldHasAWholeLease TestReleaseBesideARenewalOfAMultiLock
			TestRenewalSentBeforeAHoldDoesNotShortenIt TestFifoScriptsNameTheirHolder TestFifoScriptReadersExpireByThemselves
			TestSimulation`,
		"Candidates do not take one node of a RedLock from each other.": `
			TestCandidatesWithTooFewNodesAskSeldom`,
		"Only the holder of a vanished key may not be alone, and it is told.": `
			TestHolderOfAVanishedKeyIsTold`,
		"A silent node of a cluster delays no work on the others.": `
			TestSilentNodeDelaysNothingOnOthers TestSubscriptionLeavesASilentNode`,
		"A network that forgets all connections costs no lock, and no answer to an unlock.": `
			TestForgottenConnectionsCostNoLock TestForgottenConnectionsCostNoAnswerToAnUnlock`,
		"A caller that cancels beside a silent server goes at once, and leaves nothing.": `
			TestCancelledCallLeavesASilentServerAtOnce`,
		"A reshard that is stuck is asked seldom.": `
			TestStuckReshardIsAskedSeldom TestStuckReshardCostsItsNodesLittle`,
		"A node that is silent or gone costs a MultiLock of a RedLock nothing.": `
			TestMultiLockOfARedLockDoesWithoutANode`,
		"A lock that its owner takes again in a MultiLock is renewed while that waits, and kept for the longest lease.": `
			TestMultiLockRenewsWhatItsOwnerHasWithAFixedLease TestLockThatAMultiLockReentersIsFreeAtTheEndOfItsLease`,
		"The owner of a lost MultiLock may lock again without an unlock.": `
			TestOwnerOfALostMultiLockLocksAgain`,
		"A process that cannot be woken gets its turn, and a waiter outlasts a short refusal.": `
			TestWaiterGetsItsTurnWithoutTheRightToSubscribe TestTwoGetTheirTurnsWithoutTheRightToSubscribe
			TestWaiterGetsItsTurnWithoutTheRightToPublish TestWaiterGetsItsTurnOnARing
			TestWaiterGetsItsTurnWherePublishCountsNobody TestWaiterGetsItsTurnAfterAFailoverByCommand
			TestWaiterGetsItsTurnWithADeafSubscription TestTurnsWithoutWakeUps TestWaitersOutlastASlowScript
			TestWaitersOutlastARefusalToWrite TestRefusedReentryEndsNoWait TestWaiterGetsARefusalThatCannotPass`,
		"A lengthened lease is not handed off, and a late renewal does not lengthen it for others.": `
			TestHandoffEndsTheLongerLeaseOfAReentry TestShortLeaseIsNotHandedOn TestRenewalAfterTheRelease`,
		"Only holds that want renewal are renewed. A loss is reported.": `
			TestWatchdogKeepsTheLock TestRenewalLeavesFixedLeasesAlone TestAbandonedHoldExpires TestLostMultiLockExpires
			TestLostPartLosesTheMultiLock TestRedLockLosesItsQuorum`,
		"A caller gets the error of its own deadline, whichever timer fires first.": `
			TestCallerGetsItsOwnDeadlineAsError`,
		"A changing lock, or a silent node, costs other locks no renewal and no heartbeat.": `
			TestHandoffsKeepNoOtherLockFromRenewal TestRefusedRenewalKeepsNoOtherLockFromRenewal
			TestSilentServerKeepsNoOtherWaiterFromItsHeartbeat TestCluster`,
		"A user needs the rights of LOCKS.md and no others. A missing right is named. Commands that managed servers bar are not needed.": `
			TestRightsOfTheHandbookAreNeededAndEnough TestCheckServerNamesMissingRights TestLocksWorkWhereCommandsAreRenamed
			TestLocksWorkWhereEvalIsRenamed TestUnlockWorksWithoutTheRightToPublish`,
		"Replicas are waited for after a grant only.": `
			TestWaitReplicasConfirmsAGrant TestWaitReplicasWaitsForNoBusyLock`,
		"A distant server that knows no script costs no lock.": `
			TestFarServerWithoutScriptsCostsNoLock TestMultiLockWithoutTimeToRenewKeepsItsParts`,
		"When Redis has no memory left, everything but acquisitions goes on.": `
			TestAcquireIsRefusedWhenMemoryIsFull TestEveryKindIsRenewedAndReleasedWithoutMemory
			TestScriptsThatEndOrShortenWorkWithoutMemory`,
		"A Redis that refuses scripts gives no caller a wrong answer, and locks work as soon as it accepts scripts.": `
			TestTryIsNotBusyBehindAWaiterThatLeaves TestWaitIsNotBusyBehindAWaiterThatLeaves TestRefusalsForAMomentCostNoLock
			TestReleaseDuringARefusalIsDoneAfterIt TestRefusalsForLongLoseTheLockInTime TestRefusalsInTheMiddleOfAScriptCostNoLock
			TestLoadingRedisKeepsTheLocksThatItRemembers TestCluster TestRedLockIgnoresAMinorityThatRefuses
			TestRedLockSurvivesAMajorityThatRefusesForAMoment TestRedLockIsLostInTimeWhenAMajorityRefuses
			TestMultiLockIsNotTakenWhenAServerRefuses`,
		"A bound on time holds, however many callers share it.": `
			TestWaitBesideASibling TestMultiLockOfAServerThatStandsStill TestCloseBeforeAServerThatStandsStill
			TestWaiterThatLeavesAServerThatStandsStill TestCloseEndsTheWaitOfAMultiLock TestCloseEndsTheWaitOfARedLock
			TestMultiLockPassesItsWaitToLockers TestRedLockWaitsForASiblingWithinItsBound`,
		"Tokens grow, also within a microsecond and after a step of the clock.": `
			TestTokensGrow TestTokensGrowFromTheHighest TestRedLockTokensGrowFromTheHighest TestTokensGrowWithinAMicrosecond
			TestFifoScriptTokensGrow`,
		"Reserved tokens are issued once, from the time that has passed, and end when a token is raised.": `
			TestReservedTokensAreMintedOnce TestReservedTokensAreNotMintedAgain TestReserveEndsWhenATokenIsRaised
			TestHandoffKeepsTheOrderOfTheLine`,
		"A renewal or a re-entry that a rising token overtakes is no loss, and is repeated.": `
			TestRenewalBesideARisingToken TestReentryBesideARisingToken TestRenewalWhileTheTokenRisesIsNoLoss`,
		"TokenAbove is for the holder. A reader keeps its token, but the writer's own rises.": `
			TestTokenAboveRaisesTheToken TestFifoTokenAboveRaisesTheToken TestTokenAboveOfAWriterRaisesItsReaders
			TestFifoScriptReadersKeepTheTokenThatTheyCameWith TestLevelRaisesATokenAndNeverLowersIt TestScriptsNameTheirHolder
			TestFifoScriptsNameTheirHolder`,
		"A lock has one successor inside a process, and stays in the process for a bounded time.": `
			TestNoSuccessorOfALostHold TestNoSuccessorOnARoundTrip TestHandoffAfterALongHoldBeginsALease
			TestFreedLockIsReservedForTheFirst TestHandoffYields`,
		"Order, positions and reservations in a queue hold, also with a slow network. Dead waiters are dropped.": `
			TestProcessFarAway TestQueueKeepsItsOrder TestReservationIsKept TestQueueSkipsTheDead
			TestFifoWaitersOfADeadProcessArePassedOver TestFifoRareTriesPassTheDeadOver TestFifoScriptLetsInWhoCameFirst
			TestFifoScriptWriterWaitsBehindEarlierReaders TestFifoScriptDropsTheDead TestHandoffKeepsTheOrderOfTheLine
			TestReleaserDoesNotOvertakeAWaiter TestUnwantedReservationEndsByItself TestFifoScriptLongRunOfReadersAllEnter
			TestFifoScriptScoresNeverFallAfterAClockStep TestFifoScriptHeartbeatKeepsTheLivingAndDropsTheDead
			TestFifoScriptPauseKillsNobody TestFifoScriptPauseDoesNotSaveTheDead TestLeavingWaiterWakesTheNext`,
		"A writer may read and go on reading. A reader may not write.": `
			TestReaderOutlivesTheWriterUnderAnyOfItsContexts TestDowngradeEndsWithItsContext TestDowngradeOutlivesItsWriterAlone
			TestDowngradeOutlivesALostWriter TestFifoScriptWriterBecomesAReader TestFifoScriptRefusesAReaderWhoWantsToWrite`,
		"A MultiLock never waits backwards, and keeps its parts while it waits. Its lease counts from its last part.": `
			TestRWSidesHaveAnOrder TestMultiLockBeginsItsLeaseAnewAfterHandoffs TestFixedLeaseOfAMultiLock
			TestMultiLockNeverWaitsBackwards TestMultiLockRenewsWhatItHasTaken TestMultiLockLosesAPartWhileItWaits
			TestMultiLockNeverWaitsBackwardsForLockers TestMultiLockRenewsRedLocksWhileItWaits
			TestMultiLockDoesNotWaitBetweenServersWithoutAnAddress TestOppositeMultiLocksDoNotDeadlock TestMultiLockRollsBack`,
		"Forced unlock frees one side, for the holder of that moment only, also by a late copy, and wakes the next.": `
			TestForceUnlockFreesTheLock TestLateCopyOfAForceUnlockTouchesNobody TestForceUnlockComesTooLate
			TestForceUnlockKeepsALaterGrant TestForceUnlockFreesWhatOnlyAReentryKeeps TestFreedLockIsReservedForTheFirst
			TestFifoScriptForceTouchesItsOwnSide TestModels`,
		"Every key has a TTL. Kinds, groups and roles never collide.": `
			TestEveryKeyExpires TestFifoScriptEveryKeyExpires TestOneNameInTwoGroupsIsTwoLocks FuzzKeys
			TestVanishedTokensOfReadersExpireAgain`,
	} {
		for test := range strings.FieldsSeq(tests) {
			if !strings.Contains(code, "\nfunc "+test+"(") {
				t.Errorf("there is no %s, which guards this rule: %s", test, rule)
			}
		}
	}
}

// testCode is the code of all tests of the locks.
func testCode(t *testing.T) string {
	t.Helper()
	var code strings.Builder
	for _, pattern := range []string{"*_test.go", "locksim/*_test.go", "internal/*/*_test.go"} {
		files, err := filepath.Glob(pattern)
		if err != nil {
			t.Fatal(err)
		}
		for _, file := range files {
			text, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			code.Write(text)
		}
	}
	return code.String()
}
