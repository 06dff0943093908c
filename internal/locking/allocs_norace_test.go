//go:build !race

package locking

// watched is how often a cycle allocates in addition while it is watched for races.
const watched = 0
