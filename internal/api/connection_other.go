//go:build !linux

package api

// knowsHalfClose: a caller that has ended its side has hung up here.
const knowsHalfClose = false

// hasHungUp always returns false here: the system reports nothing before net/http notices.
func hasHungUp(uintptr) bool { return false }
