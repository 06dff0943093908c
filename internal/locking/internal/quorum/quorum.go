// Package quorum asks several independent servers at once, and stops when it is decided what most of them say.
package quorum

import (
	"slices"
	"time"
)

// Of is how many of n nodes are a quorum.
func Of(n int) int { return n/2 + 1 }

// Nth returns the largest value that at least n of them reach, or zero if there are fewer.
func Nth[T int | time.Duration](values []T, n int) T {
	if len(values) < n {
		return 0
	}
	slices.Sort(values)
	return values[len(values)-n]
}

// A Reply is what one node said, or scripts.ErrNoAnswer.
type Reply[T any] struct {
	Value T
	Err   error
}
