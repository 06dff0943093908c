package tables

// Internals, for tests.
var (
	SameMovement = sameMovement
	CheckReplay  = checkReplay
	ChangeTerms  = changeTerms
)
