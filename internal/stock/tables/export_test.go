package tables

// What is inside, for tests.
var (
	SameMovement = sameMovement
	CheckReplay  = checkReplay
	ChangeTerms  = changeTerms
)
