package api_test

import (
	"encoding/json"
	"fmt"
	"net/http"
	"net/url"
	"regexp"
	"slices"
	"strings"
	"testing"

	"golang.org/x/net/html"
)

// TestDocsPageLoadsNothingFromElsewhere goes through the page as a browser does. This server has every file that it
// names, and its policy forbids the scripts to load anything from elsewhere.
func TestDocsPageLoadsNothingFromElsewhere(t *testing.T) {
	t.Parallel()
	s := open(t)
	page := s.send(http.MethodGet, "/docs", "")
	s.want(page, http.StatusOK, "")
	files := filesOf(t, page.body)
	if want := []string{
		"docs/favicon-32x32.png", "docs/swagger-ui.css", "docs/page.css",
		"docs/swagger-ui-bundle.js", "docs/page.js",
	}; !slices.Equal(files, want) {
		t.Errorf("the page names %q, want %q", files, want)
	}
	for _, file := range append(files, "openapi.yaml") {
		a := s.send(http.MethodGet, "/"+file, "")
		s.want(a, http.StatusOK, "")
		s.wantGuarded(a)
		for _, elsewhere := range fetched(a) {
			t.Errorf("%s fetches %s", file, elsewhere)
		}
	}
	s.wantGuarded(page)
}

// filesOf returns the files that a page names, and refuses what a strict policy would: inline code and style.
func filesOf(t *testing.T, page string) (files []string) {
	t.Helper()
	tree, err := html.Parse(strings.NewReader(page))
	if err != nil {
		t.Fatal(err)
	}
	for node := range tree.Descendants() {
		if node.Type != html.ElementNode {
			if node.Parent != nil && slices.Contains([]string{"script", "style"}, node.Parent.Data) {
				t.Errorf("there is code inside the page: %s", node.Data)
			}
			continue
		}
		for _, a := range node.Attr {
			switch {
			case slices.Contains([]string{"src", "href", "srcset", "action", "data", "poster"}, a.Key):
				files = append(files, a.Val)
			case strings.HasPrefix(a.Key, "on"), a.Key == "style":
				t.Errorf("<%s> has code inside the page: %s", node.Data, a.Key)
			}
		}
	}
	return files
}

var (
	// URLs that a script or a style sheet would fetch from another server. A bundle has many other URLs, in its texts and as
	// names of schemas.
	fetchedByScript = regexp.MustCompile(`(?:fetch|import|importScripts|Worker|WebSocket|EventSource)\(\s*["'](?:[a-z]+:)?//[^"']*`)
	fetchedByStyle  = regexp.MustCompile(`(?:@import\s+|url\(\s*)["']?(?:[a-z]+:)?//[^"')]*`)
	anyURL          = regexp.MustCompile(`["'](?:[a-z]+:)?//[^"']*`)
)

func fetched(file answer) []string {
	switch media, _, _ := strings.Cut(file.header.Get("Content-Type"), ";"); media {
	case "text/javascript":
		if len(file.body) < 10_000 { // one of our own
			return anyURL.FindAllString(file.body, -1)
		}
		return fetchedByScript.FindAllString(file.body, -1)
	case "text/css":
		return fetchedByStyle.FindAllString(file.body, -1)
	default:
		return nil
	}
}

// wantGuarded checks the headers that restrict a page to its own server.
func (s *site) wantGuarded(a answer) {
	s.t.Helper()
	for name, want := range map[string]string{
		"X-Content-Type-Options": "nosniff", "X-Frame-Options": "DENY", "Referrer-Policy": "no-referrer",
		"Cross-Origin-Opener-Policy": "same-origin", "Cross-Origin-Resource-Policy": "same-origin",
	} {
		if got := a.header.Get(name); got != want {
			s.t.Errorf("%s: %q, want %q", name, got, want)
		}
	}
	policy := make(map[string]string)
	for directive := range strings.SplitSeq(a.header.Get("Content-Security-Policy"), ";") {
		name, sources, _ := strings.Cut(strings.TrimSpace(directive), " ")
		policy[name] = sources
	}
	for name, sources := range policy {
		for source := range strings.FieldsSeq(sources) {
			picture := name == "img-src" && source == "data:"
			if source != "'none'" && source != "'self'" && !picture {
				s.t.Errorf("the policy's %s allows %s", name, source)
			}
		}
	}
	for name, want := range map[string]string{
		"default-src": "'none'", "script-src": "'self'", "connect-src": "'self'",
		"base-uri": "'none'", "form-action": "'none'", "frame-ancestors": "'none'",
	} {
		if policy[name] != want {
			s.t.Errorf("the policy's %s is %q, want %q", name, policy[name], want)
		}
	}
}

func TestDocsPageWithAnotherSlash(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send(http.MethodGet, "/docs/", ""), http.StatusOK, "") // the client follows
	s.wantProblem(s.send(http.MethodGet, "/docs/oauth2-redirect.html", ""), http.StatusNotFound, "not_found")
	s.wantProblem(s.send(http.MethodGet, "/docs/../server.go", ""), http.StatusNotFound, "not_found")
}

// TestEveryCodeSaysWhetherItIsFinal goes through all codes of the document: the caller is told to send the same request again exactly if
// the problem is not final.
func TestEveryCodeSaysWhetherItIsFinal(t *testing.T) {
	t.Parallel()
	s := open(t)
	codes := document(t).Components.Schemas["Code"].Value.Enum
	if len(codes) < 25 {
		t.Fatalf("the document has %d codes", len(codes))
	}
	for _, code := range codes {
		final := !slices.Contains(undecided, code.(string))
		page := s.send(http.MethodGet, "/docs/problems/"+code.(string), "")
		if shown := fmt.Sprintf(`<code>"final": %t</code>`, final); !strings.Contains(page.body, shown) {
			t.Errorf("the page of %s does not say %s:\n%s", code, shown, page.body)
		}
		if again := strings.Contains(page.body, "the same request"); !final && !again {
			t.Errorf("the page of %s does not say that the same request is to be sent again:\n%s", code, page.body)
		}
	}
}

// TestEachProblemHasAPage follows the type of every code of the document, and what the pages link to.
func TestEachProblemHasAPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	codes := document(t).Components.Schemas["Code"].Value.Enum
	list := s.send(http.MethodGet, "/docs/problems/", "")
	s.want(list, http.StatusOK, "")
	s.wantGuarded(list)
	listed := filesOf(t, list.body)
	for _, code := range codes {
		page := s.send(http.MethodGet, "/docs/problems/"+code.(string), "")
		s.want(page, http.StatusOK, "")
		s.wantGuarded(page)
		if !strings.Contains(page.body, code.(string)) || strings.Contains(page.body, "<p></p>") {
			t.Errorf("the page of %s does not explain it:\n%s", code, page.body)
		}
		if !slices.Contains(listed, code.(string)) {
			t.Errorf("%s is not listed", code)
		}
		for _, file := range filesOf(t, page.body) {
			link, err := (&url.URL{Path: "/docs/problems/"}).Parse(file)
			if err != nil {
				t.Fatal(err)
			}
			s.want(s.send(http.MethodGet, link.Path, ""), http.StatusOK, "")
		}
	}
	s.wantProblem(s.send(http.MethodGet, "/docs/problems/none", ""), http.StatusNotFound, "not_found")
}

// TestTheTypeOfAProblemIsItsPage requests what does not exist, and follows the type of the answer.
func TestTheTypeOfAProblemIsItsPage(t *testing.T) {
	t.Parallel()
	s := open(t)
	refused := s.send(http.MethodGet, "/v1/skus/nothing", "")
	var problem struct{ Type string }
	if err := json.Unmarshal([]byte(refused.body), &problem); err != nil {
		t.Fatal(err)
	}
	page := s.send(http.MethodGet, problem.Type, "")
	s.want(page, http.StatusOK, "")
	if !strings.Contains(page.body, "unknown_sku") {
		t.Errorf("%s leads to\n%s", problem.Type, page.body)
	}
}
