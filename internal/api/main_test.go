package api_test

import (
	"bytes"
	"context"
	"io"
	"net/http"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"go.uber.org/goleak"

	"inventory/internal/app"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

// site is a running service whose every answer is held against the document.
type site struct {
	*testing.T
	app    *app.App
	client *http.Client
	router routers.Router
}

func open(t *testing.T) *site {
	t.Helper()
	a, err := app.Start(t.Context(), app.Config{DatabaseURL: "sqlite:" + filepath.Join(t.TempDir(), "inventory.db")})
	if err != nil {
		t.Fatal(err)
	}
	transport := &http.Transport{}
	t.Cleanup(func() {
		transport.CloseIdleConnections()
		if err := a.Close(context.WithoutCancel(t.Context())); err != nil {
			t.Error(err)
		}
	})
	return &site{T: t, app: a, client: &http.Client{Transport: transport}, router: document(t)}
}

func document(t *testing.T) routers.Router {
	t.Helper()
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		t.Fatal(err)
	}
	doc, err := openapi3.NewLoader().LoadFromData(text)
	if err != nil {
		t.Fatal(err)
	}
	if err := doc.Validate(t.Context()); err != nil {
		t.Fatal(err)
	}
	router, err := legacy.NewRouter(doc)
	if err != nil {
		t.Fatal(err)
	}
	return router
}

type answer struct {
	status int
	header http.Header
	body   string
}

// send sends a request with a JSON body and checks the answer against the document, where it has the route.
func (s *site) send(method, path, body string) answer {
	s.Helper()
	return s.sendAs("application/json", method, path, body)
}

func (s *site) sendAs(mediaType, method, path, body string) answer {
	s.Helper()
	request, err := http.NewRequestWithContext(s.Context(), method, s.app.URL()+path, strings.NewReader(body))
	if err != nil {
		s.Fatal(err)
	}
	if body != "" {
		request.Header.Set("Content-Type", mediaType)
	}
	response, err := s.client.Do(request)
	if err != nil {
		s.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.Fatal(err)
	}
	a := answer{response.StatusCode, response.Header, string(text)}
	s.hold(request, a)
	return a
}

// hold holds an answer against the document.
func (s *site) hold(request *http.Request, a answer) {
	s.Helper()
	request.URL.Host, request.URL.Scheme = "", ""
	route, params, err := s.router.FindRoute(request)
	if err != nil {
		return // the document does not have it, and the caller checks that it is refused
	}
	err = openapi3filter.ValidateResponse(s.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: params, Route: route},
		Status:                 a.status,
		Header:                 a.header,
		Body:                   io.NopCloser(bytes.NewBufferString(a.body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		s.Errorf("%s %s: %d %s: not as the document says: %v", request.Method, request.URL.Path, a.status, a.body, err)
	}
}

// want checks status and body; the body "" is not looked at.
func (s *site) want(a answer, status int, body string) {
	s.Helper()
	if a.status != status || (body != "" && strings.TrimSpace(a.body) != body) {
		s.Errorf("got %d %s, want %d %s", a.status, a.body, status, body)
	}
}

// wantProblem checks that an answer is a problem of a code, and says each of the texts.
func (s *site) wantProblem(a answer, status int, code string, texts ...string) {
	s.Helper()
	if a.status != status || a.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(a.body, `"code":"`+code+`"`) {
		s.Errorf("got %d %s %s, want %d with code %s", a.status, a.header.Get("Content-Type"), a.body, status, code)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			s.Errorf("%s does not say %s", a.body, text)
		}
	}
}
