//go:build unix

package sqlite

import (
	"io/fs"
	"syscall"
)

// hasOtherNames tells whether a file has hard links.
func hasOtherNames(info fs.FileInfo) bool {
	stat, ok := info.Sys().(*syscall.Stat_t)
	return ok && stat.Nlink > 1
}
