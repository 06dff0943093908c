package api_test

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"os"
	"regexp"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/getkin/kin-openapi/openapi3"
	"github.com/getkin/kin-openapi/openapi3filter"
	"github.com/getkin/kin-openapi/routers"
	"github.com/getkin/kin-openapi/routers/legacy"
	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/api"
	"inventory/internal/app"
	"inventory/internal/busytest"
	"inventory/internal/servertest"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
	"inventory/migrations"
)

// The private PostgreSQL of this package's tests, and a database with the schema, for copies.
var (
	postgresServer   *servertest.Postgres
	postgresTemplate string
)

func TestMain(m *testing.M) { os.Exit(run(m)) }

func run(m *testing.M) (code int) {
	var err error
	if postgresServer, err = servertest.StartPostgres(context.Background()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	if err = migrateTemplate(context.Background()); err == nil {
		code = m.Run()
	}
	if err = errors.Join(err, postgresServer.Stop(), busytest.Leaks()); err != nil {
		fmt.Fprintln(os.Stderr, err)
		return 1
	}
	return code
}

func migrateTemplate(ctx context.Context) (err error) {
	if postgresTemplate, _, err = postgresServer.CreateDatabase(ctx, ""); err != nil {
		return err
	}
	m, err := migrations.OpenPostgres(postgresTemplate)
	if err != nil {
		return err
	}
	return errors.Join(m.Up(ctx), m.Close())
}

// postgresDatabase returns the URL of a new database that has the schema, and goes with the test.
func postgresDatabase(t *testing.T) string {
	t.Helper()
	url, drop, err := postgresServer.CreateDatabase(t.Context(), postgresTemplate)
	if err != nil {
		t.Fatal(err)
	}
	closing(t, func() error { return drop(context.WithoutCancel(t.Context())) })
	return url
}

// eachStore runs a test on each store; the quick tests on SQLite alone.
func eachStore(t *testing.T, test func(*testing.T, app.Config)) {
	t.Parallel()
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		test(t, app.Config{})
	})
	if testing.Short() {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		test(t, app.Config{DatabaseURL: postgresDatabase(t)})
	})
}

// site is a running service. Every answer is checked against the document.
type site struct {
	t             *testing.T
	app           *app.App // nil if only the handler is served
	url, adminURL string
	client        *http.Client
	router        routers.Router
	sentAgain     atomic.Bool // a request was sent again, because the service ran out of time
}

// answerWithin is AnswerWithin of a site if a test sets none. A busy machine meets it mostly, and a request is sent again if not. After
// 30 seconds net/http would close the connection without an answer.
const answerWithin = 20 * time.Second

// open starts a site as in production, with everything embedded.
func open(t *testing.T) *site {
	t.Helper()
	return openWith(t, app.Config{})
}

// openWith starts a service with a configuration, on its own database.
func openWith(t *testing.T, config app.Config) *site {
	t.Helper()
	if config.DatabaseURL == "" {
		config.DatabaseURL = "sqlite:" + stocktest.SQLiteFile(t)
	}
	if config.AnswerWithin == 0 {
		config.AnswerWithin = answerWithin
	}
	a, err := startApp(t, config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { closeApp(t, a) })
	s := newSite(t, a.URL(), a.AdminURL())
	s.app = a
	return s
}

// startApp starts a service, and tries again if it ran out of time.
func startApp(t *testing.T, config app.Config) (a *app.App, err error) {
	t.Helper()
	busytest.Soon(t, "the service has had the time to start", func() bool {
		began := time.Now()
		a, err = app.Start(t.Context(), config)
		return err == nil || time.Since(began) < shortestLimit
	})
	return a, err
}

// closeApp closes a service. A service that does not end within its limit is abandoned, which is no failure if the machine was busy for so
// long: goroutines that are left at the end are.
func closeApp(t *testing.T, a *app.App) {
	t.Helper()
	began := time.Now()
	if err := a.Close(context.WithoutCancel(t.Context())); err != nil && time.Since(began) < shortestLimit {
		t.Error(err)
	}
}

// openAt starts a site without locks that uses a clock.
func openAt(t *testing.T, clock *clock) *site {
	t.Helper()
	server := httptest.NewServer(newHandler(t, clock.now))
	t.Cleanup(server.Close)
	return newSite(t, server.URL, "")
}

func newSite(t *testing.T, url, adminURL string) *site {
	// The service closes a connection on which no first request comes for 5 seconds. A client that has opened one too many, and uses it
	// just then, gets no answer.
	transport := &http.Transport{IdleConnTimeout: time.Second}
	t.Cleanup(transport.CloseIdleConnections)
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	return &site{t: t, url: url, adminURL: adminURL, client: &http.Client{Transport: transport}, router: c.router}
}

// newHandler returns the public handler of a service on its own database; nil is the system's clock.
func newHandler(t testing.TB, clock func() time.Time) http.Handler {
	t.Helper()
	store, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
	if err != nil {
		t.Fatal(err)
	}
	service := selling.NewService(selling.Config{Store: store, Clock: clock, AnswerWithin: answerWithin})
	t.Cleanup(func() {
		if err := errors.Join(service.Close(context.WithoutCancel(t.Context())), store.Close()); err != nil {
			t.Error(err)
		}
	})
	return api.New(api.Config{
		Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
	})
}

// clock is a clock that moves only when a test advances it.
type clock struct {
	mu sync.Mutex
	at time.Time
}

func newClock() *clock { return &clock{at: time.Date(2026, 11, 27, 9, 0, 0, 0, time.UTC)} }

func (c *clock) now() time.Time {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.at
}

func (c *clock) advance(d time.Duration) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.at = c.at.Add(d)
}

// contract is the document with which all answers are compared, and a router that finds an operation in it. They do not
// change.
type contract struct {
	document *openapi3.T
	router   routers.Router
}

// theContract reads and validates the document. It does so once, because that costs more than most tests.
var theContract = sync.OnceValues(func() (c contract, err error) {
	text, err := os.ReadFile("openapi.yaml")
	if err != nil {
		return c, err
	}
	if c.document, err = openapi3.NewLoader().LoadFromData(text); err != nil {
		return c, err
	}
	c.router, err = legacy.NewRouter(c.document) // it validates the document
	return c, err
})

func document(t testing.TB) *openapi3.T {
	t.Helper()
	c, err := theContract()
	if err != nil {
		t.Fatal(err)
	}
	return c.document
}

type answer struct {
	status int
	header http.Header
	body   string
	again  bool // an earlier try of the request may have been written
}

// shortestLimit is the shortest time after which the service refuses a request, or gives up its start or end, because it took too
// long: a refusal by a SKU's terms rests on a read of the last second. A statement may take two seconds, and a turn may come
// within four.
const shortestLimit = time.Second

// inTime returns the answer to a request for which the service has had the time. A busy machine may take longer than the service's
// limits allow: such a request is sent again, as callers do. A refusal that comes before any limit is over has another reason, and
// is the answer.
func inTime(t testing.TB, send func() answer) (a answer) {
	t.Helper()
	again := false
	busytest.Soon(t, "the service has had the time for a request", func() bool {
		next, late := once(send)
		next.again = again
		a = next
		if late {
			t.Logf("sent again: %d %.300s", a.status, a.body)
		}
		again = again || a.mayBeWritten()
		return !late
	})
	return a
}

// once sends a request once, and reports whether the service ran out of time.
func once(send func() answer) (a answer, late bool) {
	began := time.Now()
	a = send()
	if !a.isLate() || time.Since(began) < shortestLimit {
		return a, false
	}
	return a, true
}

// isLate reports whether an answer, or one of many results in it, may mean that the service ran out of time.
func (a answer) isLate() bool {
	return a.status == http.StatusServiceUnavailable || a.status == http.StatusRequestTimeout ||
		a.status == http.StatusOK && strings.Contains(a.body, `"status":503`)
}

// mayBeWritten reports whether something of a request with a late answer may have been written.
func (a answer) mayBeWritten() bool {
	return a.status == http.StatusOK || strings.Contains(a.body, "The outcome is not known")
}

// is compares a status of the answer. An order that an earlier try has written gets 200 instead of 201.
func (a answer) is(status, want int) bool {
	return status == want || a.again && status == http.StatusOK && want == http.StatusCreated
}

// send sends a request with a JSON body and checks the answer against the document, if the document has the route.
func (s *site) send(method, path, body string) answer {
	s.t.Helper()
	return s.sendAs("application/json", method, path, body)
}

func (s *site) sendAs(mediaType, method, path, body string) answer {
	s.t.Helper()
	return s.sendWith(http.Header{"Content-Type": {mediaType}}, method, path, body)
}

// sendWith sends a request with the given headers; a header of the content is for a body only.
func (s *site) sendWith(header http.Header, method, path, body string) answer {
	s.t.Helper()
	tries := 0
	return inTime(s.t, func() answer {
		if tries++; tries > 1 {
			s.sentAgain.Store(true)
		}
		return s.sendOnce(header, method, path, body)
	})
}

// do sends a request, so many times at most. A body that is too large is answered before its end, and a slow client may still write when
// the server has waited long enough for it to read the answer.
func (s *site) do(request *http.Request, tries int) (*http.Response, error) {
	response, err := s.client.Do(request)
	if cut := errors.Is(err, syscall.EPIPE) || errors.Is(err, syscall.ECONNRESET); !cut || tries == 1 {
		return response, err
	}
	body, err := request.GetBody()
	if err != nil {
		return nil, err
	}
	request.Body = body
	return s.do(request, tries-1)
}

func (s *site) sendOnce(header http.Header, method, path, body string) answer {
	s.t.Helper()
	request, err := http.NewRequestWithContext(s.t.Context(), method, s.url+path, strings.NewReader(body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header = header.Clone()
	if body == "" {
		request.Header.Del("Content-Type")
	}
	response, err := s.do(request, 20)
	if err != nil {
		s.t.Fatal(err)
	}
	defer response.Body.Close()
	if response.Header.Get("Content-Type") == "text/event-stream" {
		return answer{status: response.StatusCode, header: response.Header} // the body does not end
	}
	text, err := io.ReadAll(response.Body)
	if err != nil {
		s.t.Fatal(err)
	}
	a := answer{status: response.StatusCode, header: response.Header, body: string(text)}
	s.hold(request, a)
	return a
}

// hold compares an answer with the document.
func (s *site) hold(request *http.Request, a answer) {
	s.t.Helper()
	request.URL.Host, request.URL.Scheme = "", ""
	route, params, err := s.router.FindRoute(request)
	if err != nil {
		return // it is not in the document, and the test checks that it is refused
	}
	err = openapi3filter.ValidateResponse(s.t.Context(), &openapi3filter.ResponseValidationInput{
		RequestValidationInput: &openapi3filter.RequestValidationInput{Request: request, PathParams: params, Route: route},
		Status:                 a.status,
		Header:                 a.header,
		Body:                   io.NopCloser(bytes.NewBufferString(a.body)),
		Options:                &openapi3filter.Options{IncludeResponseStatus: true},
	})
	if err != nil {
		s.t.Errorf("%s %s: %d %s: not as the document says: %v", request.Method, request.URL.Path, a.status, a.body, err)
	}
}

// takenAt are the members with the instants of deductions.
var takenAt = regexp.MustCompile(`,"(created|committed)_at":"[^"]*"`)

// want checks status and body; "" is any body. A body without instants of deductions is one with any.
func (s *site) want(a answer, status int, body string) {
	s.t.Helper()
	got := strings.TrimSpace(a.body)
	if !takenAt.MatchString(body) {
		got = takenAt.ReplaceAllString(got, "")
	}
	if !a.is(a.status, status) || (body != "" && got != body) {
		s.t.Errorf("got %d %s, want %d %s", a.status, a.body, status, body)
	}
}

// undecided are the codes of problems after which an earlier attempt of the same request may have been carried out, or may still be.
var undecided = []string{"overloaded", "unavailable", "unauthenticated", "forbidden", "rate_limited", "request_timeout"}

// wantProblem checks that an answer is a problem of a code, and contains each of the texts.
func (s *site) wantProblem(a answer, status int, code string, texts ...string) {
	s.t.Helper()
	texts = append(texts, fmt.Sprintf(`"final":%t`, !slices.Contains(undecided, code)))
	if a.status != status || a.header.Get("Content-Type") != "application/problem+json" || !strings.Contains(a.body, `"code":"`+code+`"`) {
		s.t.Errorf("got %d %s %s, want %d with code %s", a.status, a.header.Get("Content-Type"), a.body, status, code)
	}
	for _, text := range texts {
		if !strings.Contains(a.body, text) {
			s.t.Errorf("%s does not say %s", a.body, text)
		}
	}
}
