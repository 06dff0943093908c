// Package console has the files of the page at /console, to watch a sale and change SKUs. They are plain
// modules, served as they are: the page has no build step, and sends requests to no other server.
package console

import (
	"embed"
	"io/fs"
)

//go:embed web
var web embed.FS

// Page is the name of the page among the files.
const Page = "index.html"

// Files returns the files of the page.
func Files() fs.FS {
	files, err := fs.Sub(web, "web")
	if err != nil {
		panic(err) // a mistake in this file
	}
	return files
}
