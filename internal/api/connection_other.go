//go:build !linux

package api

// tellsApart: a caller that has ended its side has hung up here.
const tellsApart = false

// hasReset is never called here.
func hasReset(uintptr) bool { return false }

// hasHungUp always returns false here: the system reports nothing before net/http notices.
func hasHungUp(uintptr) bool { return false }

// hasUnread always returns false here.
func hasUnread(uintptr) bool { return false }
