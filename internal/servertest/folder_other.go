//go:build unix && !linux

package servertest

import "os"

// quickFolder is where a server keeps files that need not survive the machine.
func quickFolder() string { return os.TempDir() }
