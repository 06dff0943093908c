package api_test

import (
	"io/fs"
	"net/http"
	"path"
	"regexp"
	"slices"
	"strings"
	"testing"

	"inventory/internal/app"
	"inventory/internal/console"
)

var imported = regexp.MustCompile(`(?m)^import .*from "([^"]*)";`)

// TestConsoleIsWholeAndAlone goes through the console as a browser does: every file that is named exists, every file is
// named by another one, and none sends requests to another server.
func TestConsoleIsWholeAndAlone(t *testing.T) {
	t.Parallel()
	s := open(t)
	page := s.send(http.MethodGet, "/console", "")
	s.want(page, http.StatusOK, "")
	s.wantGuarded(page)
	var named []string
	for _, file := range filesOf(t, page.body) {
		if name, ok := strings.CutPrefix(file, "console/"); ok {
			named = append(named, name)
		}
	}
	all, err := fs.Glob(console.Files(), "*")
	if err != nil || len(all) < 20 {
		t.Fatal(all, err)
	}
	for _, name := range all {
		a := s.send(http.MethodGet, "/console/"+name, "")
		s.want(a, http.StatusOK, "")
		s.wantGuarded(a)
		media := map[string]string{".js": "text/javascript", ".css": "text/css", ".svg": "image/svg+xml", ".html": "text/html"}[path.Ext(name)]
		if got := a.header.Get("Content-Type"); media == "" || !strings.HasPrefix(got, media) {
			t.Errorf("%s is %s", name, got)
		}
		for _, elsewhere := range fetched(a) {
			t.Errorf("%s fetches %s", name, elsewhere)
		}
		for _, other := range imported.FindAllStringSubmatch(a.body, -1) {
			named = append(named, strings.TrimPrefix(other[1], "./"))
		}
	}
	for _, name := range all {
		if name != console.Page && !slices.Contains(named, name) {
			t.Errorf("nobody names %s", name)
		}
	}
	for _, name := range named {
		if !slices.Contains(all, name) {
			t.Errorf("there is no %s", name)
		}
	}
	s.wantProblem(s.send(http.MethodGet, "/console/none.js", ""), 404, "not_found")
	s.wantProblem(s.send(http.MethodGet, "/console/..%2fconsole.go", ""), 404, "not_found")
}

// TestConsoleKnowsWhetherToAskForAKey reads the settings that the console requests first.
func TestConsoleKnowsWhetherToAskForAKey(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send(http.MethodGet, "/console/settings.json", ""), 200, `{"keys":false}`)
	d := openDoors(t, app.Config{})
	d.want(d.as("", http.MethodGet, "/console/settings.json", ""), 200, `{"keys":true}`)
}
