//go:build unix && !linux

package servertest

import "os"

// quickFolder returns the folder for a server's files that need not survive the machine.
func quickFolder() string { return os.TempDir() }
