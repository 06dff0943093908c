//go:build !unix

package worker

import "os/exec"

// setApart does nothing: there are no groups.
func setApart(*exec.Cmd) {}
