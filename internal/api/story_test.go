package api_test

import (
	"context"
	"encoding/json"
	"fmt"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"net/url"
	"slices"
	"strconv"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/prometheus/client_golang/prometheus"

	"inventory/internal/api"
	"inventory/internal/busytest"
	"inventory/internal/events"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/selling"
	"inventory/internal/stock/sqlite"
	"inventory/internal/stock/stocktest"
)

// A story is a history of requests with their answers, one step a line:
//
//	VERB NAME field=value … => answer   one request; NAME is a SKU, a deduction (lamp/o), or an order of several SKUs (o)
//	N x VERB …              => answers  N of them at once, sent to both processes by turns; # is the number of each
//	& VERB …                            at once with the lines that follow, whose last one has the answers of all
//	lost VERB …                         the caller hangs up before the answer
//	left lamp available=3 …             the figures of a SKU; its stock is their sum
//	hears lamp sold_out …               the listener's next words about whether the SKU has units
//	pass 10m                            the clock moves
//	prune lamp                          the operator removes orders to which nothing has happened since now
//
// An answer is a status and what the body has: member=value, or a text as the value of any member; !text is not there.
// A status with two right values is 200|201. Answers of requests at once are in any order: 5 x 201, 15 x 409 sold_out.
type story struct {
	t         *testing.T
	store     stock.Store
	clock     *clock
	processes [2]*site
	listener  *events.Subscription
	heard     []string // "SKU kind", and not asked for yet
	together  []call   // with the line that comes next
}

// call is a request of a line, and how many of them.
type call struct {
	times                       int
	method, path, body, written string
}

// tellEach plays histories on both stores, each with a database of its own; the quick tests on SQLite alone.
func tellEach(t *testing.T, histories map[string]string) {
	t.Run("sqlite", func(t *testing.T) {
		t.Parallel()
		tellAll(t, histories, func(t *testing.T) [2]stock.Store {
			store, err := sqlite.Open(t.Context(), stocktest.SQLiteFile(t))
			if err != nil {
				t.Fatal(err)
			}
			closing(t, store.Close)
			return [2]stock.Store{store, store}
		})
	})
	if testing.Short() {
		return
	}
	t.Run("postgres", func(t *testing.T) {
		t.Parallel()
		tellAll(t, histories, func(t *testing.T) (stores [2]stock.Store) {
			database := postgresDatabase(t)
			for i := range stores {
				store, err := postgres.Open(t.Context(), database, 4)
				if err != nil {
					t.Fatal(err)
				}
				closing(t, store.Close)
				stores[i] = store
			}
			return stores
		})
	})
}

func closing(t *testing.T, end func() error) {
	t.Cleanup(func() {
		if err := end(); err != nil {
			t.Error(err)
		}
	})
}

func tellAll(t *testing.T, histories map[string]string, open func(*testing.T) [2]stock.Store) {
	for title, steps := range histories {
		t.Run(title, func(t *testing.T) {
			t.Parallel()
			s := openStory(t, open(t))
			for number, line := range strings.Split(strings.TrimSpace(steps), "\n") {
				if s.step(strings.TrimSpace(line)); t.Failed() {
					t.Fatalf("in line %d: %s", number+1, strings.TrimSpace(line))
				}
			}
			for _, process := range s.processes {
				if a := process.send("GET", "/v1/audit", ""); !strings.Contains(a.body, `"ok":true`) {
					t.Errorf("got the audit %s, want one that is right", a.body)
				}
			}
		})
	}
}

// openStory starts two processes that sell from one database, by a clock of the test.
func openStory(t *testing.T, stores [2]stock.Store) *story {
	s := &story{t: t, store: stores[0], clock: newClock()}
	hub := events.NewHub(events.Config{})
	closing(t, func() error { return hub.Close(context.WithoutCancel(t.Context())) })
	listener, err := hub.Subscribe(events.Caller{}, "")
	if err != nil {
		t.Fatal(err)
	}
	s.listener = listener
	for i, store := range stores {
		service := selling.NewService(selling.Config{Store: store, Clock: s.clock.now, AnswerWithin: answerWithin, Events: hub})
		closing(t, func() error { return service.Close(context.WithoutCancel(t.Context())) })
		server := httptest.NewServer(api.New(api.Config{
			Service: service, Metrics: api.NewMetrics(prometheus.NewRegistry()), Logger: slog.New(slog.DiscardHandler),
		}))
		t.Cleanup(server.Close)
		s.processes[i] = newSite(t, server.URL, "")
	}
	return s
}

// step plays one line.
func (s *story) step(line string) {
	s.t.Helper()
	ask, want, _ := strings.Cut(line, "=>")
	words := strings.Fields(ask)
	switch words[0] {
	case "pass":
		d, err := time.ParseDuration(words[1])
		if err != nil {
			s.t.Fatal(err)
		}
		s.clock.advance(d)
	case "prune":
		s.prune(words[1])
	case "left":
		s.left(words[1], words[2:])
	case "hears":
		s.hears(words[1], words[2:])
	case "lost":
		s.lose(s.callOf(1, words[1:]))
	default:
		joined := words[0] == "&"
		if joined {
			words = words[1:]
		}
		times := 1
		if n, err := strconv.Atoi(words[0]); err == nil {
			times, words = n, words[2:]
		}
		s.together = append(s.together, s.callOf(times, words))
		if want != "" {
			s.send(strings.Split(want, ", "))
		} else if !joined {
			s.t.Fatal("the line has no answer")
		}
	}
}

// callOf makes the request of a line.
func (s *story) callOf(times int, words []string) call {
	s.t.Helper()
	verb, name := words[0], words[1]
	fields := make(map[string]json.RawMessage)
	for _, word := range words[2:] {
		if field, value, is := strings.Cut(word, "="); is {
			fields[field] = jsonOf(value)
		}
	}
	sku, orderID, ofSKU := strings.Cut(name, "/")
	path, method := "/v1/skus/"+url.PathEscape(sku), http.MethodPost
	at := path + "/deductions/" + url.PathEscape(orderID)
	if !ofSKU {
		at = "/v1/orders/" + url.PathEscape(sku)
	}
	switch verb {
	case "create":
		method = http.MethodPut
	case "change":
		method = http.MethodPatch
	case "archive":
		method = http.MethodDelete
	case "restock", "adjust", "resegment":
		path += "/" + verb
	case "movements", "audit":
		path, method = path+"/"+verb, http.MethodGet
	case "show":
		path, method = at, http.MethodGet
	case "history":
		path, method = at+"/history", http.MethodGet
	case "commit", "cancel", "return", "extend":
		path = at + "/" + verb
		if lines := asSKULines(words[2:]); string(lines) != "[]" {
			fields["lines"] = lines
		}
	case "revise":
		path, fields["lines"] = at+"/change", asSKULines(words[2:])
	case "order":
		if path += "/deductions"; !ofSKU {
			path, orderID = "/v1/orders", name
			fields["lines"] = asSKULines(words[2:])
		}
		fields["order_id"] = json.RawMessage(strconv.Quote(orderID))
	case "many":
		path = "/v1/deductions"
		fields["deductions"] = asLines(words[1:], func(word string) string {
			sku, orderID, _ := strings.Cut(word, "/")
			return `"sku":` + strconv.Quote(sku) + `,"order_id":` + strconv.Quote(orderID)
		})
	default:
		s.t.Fatalf("%s is no verb", verb)
	}
	body, err := json.Marshal(fields)
	if err != nil {
		s.t.Fatal(err)
	}
	if len(fields) == 0 {
		body = nil
	}
	return call{times, method, path, string(body), strings.Join(words, " ")}
}

// jsonOf returns a value as it is if it is JSON, and otherwise as a text.
func jsonOf(value string) json.RawMessage {
	if json.Valid([]byte(value)) {
		return json.RawMessage(value)
	}
	return json.RawMessage(strconv.Quote(value))
}

// asSKULines returns the words of the form SKU:QUANTITY as the lines of an order.
func asSKULines(words []string) json.RawMessage {
	return asLines(words, func(word string) string { return `"sku":` + strconv.Quote(word) })
}

// asLines returns the words of the form NAME:QUANTITY as a list.
func asLines(words []string, name func(string) string) json.RawMessage {
	var lines []string
	for _, word := range words {
		if sku, quantity, is := strings.Cut(word, ":"); is && !strings.Contains(word, "=") {
			lines = append(lines, "{"+name(sku)+`,"quantity":`+string(jsonOf(quantity))+"}")
		}
	}
	return json.RawMessage("[" + strings.Join(lines, ",") + "]")
}

// send sends the requests that are together, and compares their answers with what is wanted, in any order.
func (s *story) send(wants []string) {
	s.t.Helper()
	var calls []call
	for _, c := range s.together {
		for n := range c.times {
			number := fmt.Sprint(n + 1)
			calls = append(calls, call{1, c.method, strings.ReplaceAll(c.path, "%23", number), strings.ReplaceAll(c.body, "#", number), c.written})
		}
	}
	s.together = nil
	answers := make([]answer, len(calls))
	var wg sync.WaitGroup
	for i, c := range calls {
		wg.Go(func() { answers[i] = s.processes[i%2].send(c.method, c.path, c.body) })
	}
	wg.Wait()
	expected := make([][]string, 0, len(calls))
	for _, want := range wants {
		words, times := strings.Fields(want), 1
		if len(words) > 2 && words[1] == "x" {
			n, err := strconv.Atoi(words[0])
			if err != nil {
				s.t.Fatal(err)
			}
			times, words = n, words[2:]
		}
		expected = append(expected, slices.Repeat([][]string{words}, times)...)
	}
	exact, again := make([]int, 0, len(answers)), []int(nil)
	for i, a := range answers {
		if a.again {
			again = append(again, i)
		} else {
			exact = append(exact, i)
		}
	}
	slices.SortFunc(again, func(i, j int) int { return answers[j].status - answers[i].status }) // 201 has one meaning, and 200 two
	for _, i := range slices.Concat(exact, again) {
		a := answers[i]
		at := slices.IndexFunc(expected, func(words []string) bool { return a.has(words) })
		if at < 0 {
			s.t.Errorf("%s: got %d %s, want %v", calls[i].written, a.status, a.body, expected)
			return
		}
		expected = slices.Delete(expected, at, at+1)
	}
	if len(expected) > 0 {
		s.t.Errorf("nobody got %v", expected)
	}
}

// has reports whether an answer is as the words say.
func (a answer) has(words []string) bool {
	is := func(text string) bool {
		want, err := strconv.Atoi(text)
		return err == nil && a.is(a.status, want)
	}
	if !slices.ContainsFunc(strings.Split(words[0], "|"), is) {
		return false
	}
	for _, word := range words[1:] {
		if a.again && word == "status=201" { // of one of many
			word = "status=201|status=200"
		}
		word, not := strings.CutPrefix(word, "!")
		there := slices.ContainsFunc(strings.Split(word, "|"), func(word string) bool {
			text := ":" + strconv.Quote(word)
			if member, value, is := strings.Cut(word, "="); is {
				text = strconv.Quote(member) + ":" + string(jsonOf(value))
			}
			return strings.Contains(a.body, text+",") || strings.Contains(a.body, text+"}")
		})
		if there == not {
			return false
		}
	}
	return true
}

// lose sends a request whose caller hangs up at once. Nobody knows what becomes of it.
func (s *story) lose(c call) {
	s.t.Helper()
	ctx, cancel := context.WithTimeout(s.t.Context(), time.Millisecond)
	defer cancel()
	request, err := http.NewRequestWithContext(ctx, c.method, s.processes[0].url+c.path, strings.NewReader(c.body))
	if err != nil {
		s.t.Fatal(err)
	}
	request.Header.Set("Content-Type", "application/json")
	if response, err := s.processes[0].client.Do(request); err == nil {
		response.Body.Close()
	}
}

// left compares the figures of a SKU, of which everything adds up.
func (s *story) left(sku string, want []string) {
	s.t.Helper()
	a := s.processes[1].send("GET", "/v1/skus/"+url.PathEscape(sku), "")
	var got struct {
		Stock, Available, Reserved, Committed int64
		Segments                              []struct{ Available int64 }
	}
	if err := json.Unmarshal([]byte(a.body), &got); err != nil {
		s.t.Fatalf("%d %s: %v", a.status, a.body, err)
	}
	figures := fmt.Sprintf("available=%d reserved=%d committed=%d", got.Available, got.Reserved, got.Committed)
	if figures != strings.Join(want, " ") {
		s.t.Errorf("left of %s: got %s, want %s", sku, figures, strings.Join(want, " "))
	}
	inSegments := int64(0)
	for _, segment := range got.Segments {
		inSegments += segment.Available
	}
	if got.Stock != got.Available+got.Reserved+got.Committed || inSegments != got.Available {
		s.t.Errorf("got %s, whose figures do not add up", a.body)
	}
}

// hears waits for what the listener is told about a SKU. It was told nothing else before.
func (s *story) hears(sku string, want []string) {
	s.t.Helper()
	for len(s.heard) < len(want) {
		busytest.Receive(s.t, fmt.Sprintf("%s of %s after %s", want, sku, s.heard), s.listener.Ready())
		for _, d := range s.listener.Take() {
			if d.Kind == stock.EventSoldOut || d.Kind == stock.EventBackInStock {
				s.heard = append(s.heard, d.SKU+" "+string(d.Kind))
			}
		}
	}
	for _, kind := range want {
		if s.heard[0] != sku+" "+kind {
			s.t.Fatalf("heard %s, want %s of %s", s.heard, want, sku)
		}
		s.heard = s.heard[1:]
	}
}

// prune removes the orders of an archived SKU.
func (s *story) prune(sku string) {
	s.t.Helper()
	page, err := s.store.DeductionPage(s.t.Context(), stock.DeductionQuery{SKU: sku, Limit: 100})
	if err != nil {
		s.t.Fatal(err)
	}
	ids := stock.Column(page.Deductions, func(d stock.Deduction) string { return d.OrderID })
	if _, err := s.store.Prune(s.t.Context(), stock.Pruning{SKU: sku, OrderIDs: ids, Before: s.clock.now()}); err != nil {
		s.t.Fatal(err)
	}
}
