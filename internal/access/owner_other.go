//go:build !unix

package access

import (
	"io/fs"
	"os"
)

// keepOwner does nothing: a new file has the rights of its folder.
func keepOwner(*os.File, fs.FileInfo) error { return nil }

// syncFolder does nothing: folders cannot be synced.
func syncFolder(string) error { return nil }
