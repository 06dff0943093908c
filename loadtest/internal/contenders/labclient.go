package contenders

import (
	"bufio"
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"net/http"
	"net/url"
	"strconv"
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
	head := headOf(l, target)
	start := time.Now()
	lines := make([]wire, l.connections)
	var back sync.WaitGroup
	for i := range lines {
		back.Go(func() {
			lines[i].load, lines[i].head, lines[i].end = l, head, start.Add(l.window)
			lines[i].err = lines[i].run(ctx, target.Host)
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
	r.p50, r.p99 = waits.Quantile(50), waits.Quantile(99)
	if len(errs) > 0 {
		return r, fmt.Errorf("%d of %d connections failed, one with: %w", len(errs), l.connections, errs[0])
	}
	return r, nil
}

// headOf is what every request of a load begins with, up to the length of its body.
func headOf(l load, target *url.URL) string {
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\n", target.Path, target.Host)
	if l.key != "" {
		head += "Authorization: Bearer " + l.key + "\r\n"
	}
	return head + "Content-Type: application/json\r\nContent-Length: "
}

// wire is one connection, and what came over it.
type wire struct {
	load load
	head string
	end  time.Time

	sent     int
	kept     []string
	counts   crowd.Counts
	unheard  int64
	repeated int64
	waits    []time.Duration
	err      error
}

// run sends one request after another until the window is over.
func (w *wire) run(ctx context.Context, host string) error {
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
	var request []byte
	for start := time.Now(); start.Before(w.end); {
		body, id := w.next()
		request = append(request[:0], w.head...)
		request = append(strconv.AppendInt(request, int64(len(body)), 10), "\r\n\r\n"...)
		request = append(request, body...)
		w.sent++
		w.unheard += w.orders()
		if _, err := connection.Write(request); err != nil {
			return fmt.Errorf("send: %w", err)
		}
		status, answer, err := readAnswer(reader)
		if err != nil {
			return fmt.Errorf("receive: %w", err)
		}
		w.unheard -= w.orders()
		if err := w.count(status, answer, id); err != nil {
			return err
		}
		now := time.Now()
		w.waits = append(w.waits, now.Sub(start))
		start = now
	}
	return nil
}

// orders are those of one request.
func (w *wire) orders() int64 { return int64(max(1, w.load.together)) }

// next is the body of the next request, and the id of its order if it goes alone.
func (w *wire) next() (body, id string) {
	if w.load.together == 0 {
		id = w.orderID()
		return w.load.body(id), id
	}
	ids := make([]string, w.load.together)
	for i := range ids {
		ids[i] = w.orderID()
	}
	return w.load.bodyOf(ids), ""
}

// orderID is a new one, or every so often one that was accepted before.
func (w *wire) orderID() string {
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
func (w *wire) count(status int, body []byte, id string) error {
	switch {
	case w.load.together > 0:
		accepted := bytes.Count(body, sold)
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
	return bytes.Contains(body, soldOut) || bytes.Contains(body, enough)
}

var (
	sold    = []byte(`{"status":201,`) // of one of many orders
	soldOut = []byte(`"code":"sold_out"`)
	enough  = []byte(`"code":"buyer_limit"`)
)

var (
	errNoLength = errors.New("an answer without Content-Length")
	lengthName  = []byte("content-length:")
)

// readAnswer reads a status and a body.
func readAnswer(r *bufio.Reader) (status int, body []byte, err error) {
	line, err := r.ReadSlice('\n')
	if err != nil {
		return 0, nil, err
	}
	if len(line) < len("HTTP/1.1 200") {
		return 0, nil, fmt.Errorf("%q is no answer", line)
	}
	if status, err = strconv.Atoi(string(line[9:12])); err != nil {
		return 0, nil, fmt.Errorf("read the status: %w", err)
	}
	length := -1
	for {
		if line, err = r.ReadSlice('\n'); err != nil {
			return 0, nil, err
		}
		line = bytes.TrimRight(line, "\r\n")
		if len(line) == 0 {
			break
		}
		if len(line) > len(lengthName) && bytes.EqualFold(line[:len(lengthName)], lengthName) {
			if length, err = strconv.Atoi(string(bytes.TrimSpace(line[len(lengthName):]))); err != nil {
				return 0, nil, fmt.Errorf("read the length: %w", err)
			}
		}
	}
	if length < 0 {
		return 0, nil, errNoLength
	}
	body = make([]byte, length)
	_, err = io.ReadFull(r, body)
	return status, body, err
}
