package api

import (
	"io/fs"
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/console"
)

// consoleSettings is what the console must know before its first request.
type consoleSettings struct {
	Keys bool `json:"keys"` // the service asks for keys
}

// consoleRoutes returns the routes of the console and its files. They are public, because the files hold no data: the
// console requests what it shows with its user's key.
func (s *server) consoleRoutes() []route {
	files := console.Files()
	page := echo.StaticFileHandler(console.Page, files)
	handlers := []struct {
		path    string
		handler echo.HandlerFunc
	}{
		{"/console", page},
		{"/console/", func(c echo.Context) error { return c.Redirect(http.StatusPermanentRedirect, "/console") }},
		{"/console/settings.json", func(c echo.Context) error {
			return c.JSON(http.StatusOK, consoleSettings{Keys: s.guard != nil})
		}},
		{"/console/:file", serveFile(files)},
	}
	routes := make([]route, len(handlers))
	for i, h := range handlers {
		routes[i] = route{http.MethodGet, h.path, public, timed(guardPage(h.handler))}
	}
	return routes
}

// serveFile serves the file that the path names. All files are in one folder.
func serveFile(files fs.FS) echo.HandlerFunc {
	return func(c echo.Context) error {
		name := param(c, "file")
		if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
			return echo.ErrNotFound
		}
		return echo.StaticFileHandler(name, files)(c)
	}
}
