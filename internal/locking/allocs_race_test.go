//go:build race

package locking

// watched is how often a cycle allocates in addition while it is watched for races: fewer calls are inlined then.
const watched = 1
