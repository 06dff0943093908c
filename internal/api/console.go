package api

import (
	"io/fs"
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/console"
)

// consoleSettings is what the console has to know before it asks for anything.
type consoleSettings struct {
	Keys bool `json:"keys"` // callers are asked for one
}

// consoleRoutes are the console and its files. They are for everybody, because they hold nobody's data: what the console
// shows it asks for with the key of whoever uses it.
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

// serveFile serves the file that the path names. All are in one folder.
func serveFile(files fs.FS) echo.HandlerFunc {
	return func(c echo.Context) error {
		name := param(c, "file")
		if info, err := fs.Stat(files, name); err != nil || info.IsDir() {
			return echo.ErrNotFound
		}
		return echo.StaticFileHandler(name, files)(c)
	}
}
