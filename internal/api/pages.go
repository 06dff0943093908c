package api

import (
	"embed"
	"io/fs"
	"maps"
	"net/http"
	"slices"

	"github.com/labstack/echo/v4"
	"github.com/swaggest/swgui/v5/static"
	"github.com/vearutop/statigz"

	"inventory/internal/console"
)

// The page at /docs is Swagger UI from inside the program. It loads nothing from elsewhere, and its policy ensures that.
// The page is ours, because the page of swgui has inline scripts: a policy that lets them run would also let injected
// scripts run.
//
//go:embed docs
var docs embed.FS

// docsPolicy allows the page to load from this server, its scripts to call this server, and the small pictures inside
// Swagger UI's style sheet. It allows no inline script or style, no frame around the page and none in it.
const docsPolicy = "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; " +
	"base-uri 'none'; form-action 'none'; frame-ancestors 'none'"

// pageRoutes returns the routes of pages. They are public, because pages hold no data.
func pageRoutes(pages map[string]echo.HandlerFunc) []route {
	var routes []route
	for _, path := range slices.Sorted(maps.Keys(pages)) {
		routes = append(routes, route{http.MethodGet, path, public, timed(guardPage(pages[path]))})
	}
	return routes
}

// docsPages returns the page, its files and the document, by their paths.
func docsPages() map[string]echo.HandlerFunc {
	swagger := echo.WrapHandler(http.StripPrefix("/docs", statigz.FileServer(static.FS)))
	return map[string]echo.HandlerFunc{
		"/openapi.yaml":              serveDocument,
		"/docs":                      echo.StaticFileHandler("docs/index.html", docs),
		"/docs/":                     func(c echo.Context) error { return c.Redirect(http.StatusPermanentRedirect, "/docs") },
		"/docs/page.js":              echo.StaticFileHandler("docs/page.js", docs),
		"/docs/page.css":             echo.StaticFileHandler("docs/page.css", docs),
		"/docs/swagger-ui-bundle.js": swagger,
		"/docs/swagger-ui.css":       swagger,
		"/docs/favicon-32x32.png":    swagger,
	}
}

// guardPage sets the headers of a page, and has it served from its beginning to its end: net/http's errors for ranges and conditions are not problems.
func guardPage(next echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		GuardPage(c.Response().Header())
		c.Request().Header.Del("Range")
		c.Request().Header.Del("If-Match")
		return next(c)
	}
}

// GuardPage sets the headers that make a browser trust only this server on a page of ours.
func GuardPage(h http.Header) {
	h.Set(echo.HeaderContentSecurityPolicy, docsPolicy)
	h.Set(echo.HeaderXContentTypeOptions, nosniff)
	h.Set(echo.HeaderXFrameOptions, "DENY")
	h.Set(echo.HeaderReferrerPolicy, "no-referrer")
	h.Set("Cross-Origin-Opener-Policy", "same-origin")
	h.Set("Cross-Origin-Resource-Policy", "same-origin")
	h.Set(echo.HeaderCacheControl, "no-cache") // a new version of the program may change files and keep their names
}

func serveDocument(c echo.Context) error {
	return c.Blob(http.StatusOK, "application/yaml", document)
}

// consolePages returns the console and its files, by their paths. The console requests what it shows with its user's key.
func (s *server) consolePages() map[string]echo.HandlerFunc {
	files := console.Files()
	page := echo.StaticFileHandler(console.Page, files)
	return map[string]echo.HandlerFunc{
		"/":         func(c echo.Context) error { return c.Redirect(http.StatusFound, "/console") },
		"/console":  page,
		"/console/": func(c echo.Context) error { return c.Redirect(http.StatusPermanentRedirect, "/console") },
		"/console/settings.json": func(c echo.Context) error { // what it must know before its first request
			return sendJSON(c, http.StatusOK, map[string]bool{"keys": s.Guard != nil})
		},
		"/console/:file": serveFile(files),
	}
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
