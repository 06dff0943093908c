//go:build !unix

package sqlite

import "io/fs"

// hasOtherNames is always false: the system does not tell.
func hasOtherNames(fs.FileInfo) bool { return false }
