//go:build unix && !linux

package servertest

import "syscall"

// setDeathSignal does nothing: only Linux can tie a program to its starter.
func setDeathSignal(*syscall.SysProcAttr, syscall.Signal) {}
