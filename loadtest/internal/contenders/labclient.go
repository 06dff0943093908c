package contenders

import (
	"bufio"
	"bytes"
	"context"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
	"strings"
	"sync"
	"time"

	"github.com/google/uuid"

	"inventory/internal/latency"
	"inventory/loadtest/internal/crowd"
)

// labClient sends from this process, over plain connections that are kept. It hears every answer.
type labClient struct{}

func (labClient) name() string { return "this program, without wrk" }

// labPatience is how long an answer may take after the window.
const labPatience = 10 * time.Second

// drive implements generator.
func (labClient) drive(ctx context.Context, l load) (round, error) {
	target, err := url.Parse(l.url)
	if err != nil {
		return round{}, fmt.Errorf("URL of the service: %w", err)
	}
	path, host, authorization := target.EscapedPath(), target.Host, ""
	if l.key != "" {
		authorization = "Authorization: Bearer " + l.key + "\r\n"
	}
	start := time.Now()
	lines := make([]line, l.connections)
	var back sync.WaitGroup
	for i := range lines {
		back.Go(func() {
			lines[i].load, lines[i].path, lines[i].end = l, path, start.Add(l.window)
			lines[i].head = " HTTP/1.1\r\nHost: " + host + "\r\n" + authorization + "Content-Type: application/json\r\nContent-Length: "
			lines[i].err = lines[i].run(ctx, host)
		})
	}
	back.Wait()
	r, waits, errs := round{took: time.Since(start)}, latency.New(), []error(nil)
	for i := range lines {
		r.counts, r.unheard = r.counts.Add(lines[i].counts), r.unheard+lines[i].unheard
		r.repeated += lines[i].repeated
		for _, wait := range lines[i].waits {
			waits.Record(wait)
		}
		if lines[i].err != nil {
			errs = append(errs, lines[i].err)
		}
	}
	r.p50, r.p99, r.waits = waits.Quantile(50), waits.Quantile(99), waits
	if len(errs) > 0 {
		return r, fmt.Errorf("%d of %d connections failed, one with: %w", len(errs), l.connections, errs[0])
	}
	return r, nil
}

// line is one connection, and what came over it.
type line struct {
	load       load
	path, head string // of every request
	end        time.Time

	sent     int
	kept     []string
	counts   crowd.Counts
	unheard  int64
	repeated int64
	waits    []time.Duration
	err      error
}

// run sends one request after another until the window is over.
func (w *line) run(ctx context.Context, host string) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", host)
	if err != nil {
		return fmt.Errorf("connect: %w", err)
	}
	defer connection.Close()
	// Closed, it ends reads and writes. A second close does no harm.
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })()
	if err := connection.SetDeadline(w.end.Add(labPatience)); err != nil {
		return fmt.Errorf("bound the connection: %w", err)
	}
	reader := bufio.NewReader(connection)
	for start := time.Now(); start.Before(w.end); {
		request, id := w.next()
		w.sent++
		w.unheard += w.orders()
		if _, err := io.WriteString(connection, request); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		status, body, err := readAnswer(reader)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		w.unheard -= w.orders()
		if err := w.count(status, body, id); err != nil {
			return err
		}
		now := time.Now()
		w.waits = append(w.waits, now.Sub(start))
		start = now
	}
	return nil
}

// readAnswer reads a status and a body.
func readAnswer(from *bufio.Reader) (status int, body []byte, err error) {
	answer, err := http.ReadResponse(from, nil)
	if err != nil {
		return 0, nil, err
	}
	defer answer.Body.Close()
	body, err = io.ReadAll(answer.Body)
	return answer.StatusCode, body, err
}

// orders are those of one request.
func (w *line) orders() int64 { return int64(max(1, w.load.together)) }

// next is the next request, and the id of its order if it goes alone.
func (w *line) next() (request, id string) {
	var body string
	if w.load.together == 0 {
		id = w.orderID()
		body = w.load.body(id)
	} else {
		ids := make([]string, w.load.together)
		for i := range ids {
			ids[i] = w.orderID()
		}
		body = w.load.bodyOf(ids)
	}
	path := w.path
	if n := len(w.load.skus); n > 0 {
		path = strings.Replace(path, "*", w.load.skus[rand.IntN(n)], 1)
	}
	return "POST " + path + w.head + strconv.Itoa(len(body)) + "\r\n\r\n" + body, id
}

// orderID is a new one, or every so often one that was accepted before.
func (w *line) orderID() string {
	if again := w.load.again; again > 0 && w.sent%again == again-1 {
		old := w.load.winners
		if len(old) == 0 {
			old = w.kept
		}
		if len(old) > 0 {
			w.repeated++
			return old[rand.IntN(len(old))]
		}
	}
	if w.load.growing {
		return uuid.Must(uuid.NewV7()).String()
	}
	return uuid.NewString()
}

// count counts an answer by its status.
func (w *line) count(status int, body []byte, id string) error {
	switch {
	case w.load.together > 0:
		accepted := bytes.Count(body, []byte(`{"status":201,`))
		if w.counts.Accepted += int64(accepted); accepted < w.load.together {
			return fmt.Errorf("%d of %d orders were sold: %d %.500s", accepted, w.load.together, status, body)
		}
	case status == http.StatusCreated:
		w.counts.Accepted++
		if w.load.again > 0 && len(w.load.winners) == 0 && len(w.kept) < 100 {
			w.kept = append(w.kept, id)
		}
	case status == http.StatusOK:
		w.counts.Replayed++
	case status == http.StatusConflict && refused(body):
		w.counts.Refused++
	default:
		return fmt.Errorf("a wrong answer: %d %s", status, body)
	}
	return nil
}

// refused tells whether a conflict is one of those that a buyer has to live with.
func refused(body []byte) bool {
	return bytes.Contains(body, []byte(`"code":"sold_out"`)) || bytes.Contains(body, []byte(`"code":"buyer_limit"`))
}
