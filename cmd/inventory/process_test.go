package main

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strings"
	"sync"
	"sync/atomic"
	"syscall"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/api/client"
	"inventory/internal/busytest"
)

// process is one `inventory serve`.
type process struct {
	t          *testing.T
	args       []string
	url, admin string
	command    *exec.Cmd
	ready      chan struct{} // closed when it listens
	ended      chan struct{} // closed when it has ended and its output was read
	log        *busytest.Log
}

// listening finds the addresses in a log of either format.
var listening = regexp.MustCompile(`listening"?[ ,]"?url"?[=:]"?([^\s"]+)"?[ ,]"?admin"?[=:]"?([^\s"]+)`)

// serve starts a process and waits until it listens.
func serve(t *testing.T, args ...string) *process {
	t.Helper()
	p := launch(t, args...)
	p.listens()
	return p
}

// launch starts a process, which has more time than by default.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{t: t, args: append([]string{
		"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0",
		"--answer-within", mostAnswerWithin.String(), "--drain-timeout", busytest.Patience.String(),
	}, args...)}
	p.start()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

func (p *process) start() {
	p.t.Helper()
	p.ready, p.ended, p.log = make(chan struct{}), make(chan struct{}), new(busytest.Log)
	p.command = program(p.t, p.args...)
	output, err := p.command.StderrPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		p.t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			_, _ = fmt.Fprintln(p.log, lines.Text()) // a Log takes everything
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				p.url, p.admin = found[1], found[2]
				close(p.ready)
			}
		}
	}()
}

// listens waits until a process does. It starts it again, as a supervisor would, if a server has not answered in time.
func (p *process) listens() {
	p.t.Helper()
	busytest.Soon(p.t, "a process listens", func() bool {
		select {
		case <-p.ready:
			return true
		case <-p.ended:
			if code := p.end(syscall.SIGKILL); code != statusFailed || !late.MatchString(p.log.String()) {
				p.t.Fatalf("did not start: exit status %d: %s", code, p.log.String())
			}
			p.start()
		default:
		}
		return false
	})
}

// end sends a signal and waits for the end; it returns the exit status, -1 for a killed process.
func (p *process) end(signal syscall.Signal) int {
	p.t.Helper()
	if p.command.ProcessState != nil {
		return p.command.ProcessState.ExitCode()
	}
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.t.Error(err)
	}
	busytest.Receive(p.t, "the end of a process after "+signal.String(), p.ended)
	_ = p.command.Wait() // the exit status says enough
	return p.command.ProcessState.ExitCode()
}

func execute(t *testing.T, url, statement string) {
	t.Helper()
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), statement); err != nil {
		t.Fatal(err)
	}
}

// crowd is many buyers of one SKU, which remember their answers.
type crowd struct {
	t        *testing.T
	sku      string
	services []*client.Service
	accepted atomic.Int64
	mu       sync.Mutex
	won      []string
	errors   []error
}

func newCrowd(t *testing.T, stock int64, processes ...*process) *crowd {
	t.Helper()
	c := &crowd{t: t, sku: "hot"}
	for _, p := range processes {
		service, err := client.NewService(p.url, 64, time.Millisecond) // the next process is tried at once
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(service.Close)
		c.services = append(c.services, service)
	}
	busytest.Soon(t, "the SKU is created", func() bool {
		created, err := c.services[0].CreateSKU(t.Context(), c.sku, client.NewSKU{Stock: stock})
		if err == nil && created.Status == http.StatusServiceUnavailable {
			return false
		}
		if err = errors.Join(err, created.Err()); err != nil {
			t.Fatal(err)
		}
		return true
	})
	return c
}

// deduct sends an order to a process, and to the next one while there is no final answer.
func (c *crowd) deduct(ctx context.Context, buyer int, order client.NewDeduction) (answer client.Answer[client.Deduction], err error) {
	ctx, cancel := context.WithTimeout(ctx, busytest.Patience)
	defer cancel()
	for ; ctx.Err() == nil; buyer++ {
		answer, err = c.services[buyer%len(c.services)].Deduct(ctx, c.sku, order)
		if err == nil && answer.Status != http.StatusServiceUnavailable {
			break
		}
	}
	return answer, err
}

// buy lets n buyers buy one unit each, 64 at a time. After each order it calls each with the number of accepted orders.
func (c *crowd) buy(n int, each func(accepted int64)) {
	c.t.Helper()
	var wg sync.WaitGroup
	turns := make(chan struct{}, 64)
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			id := fmt.Sprintf("order-%06d", i)
			answer, err := c.deduct(c.t.Context(), i, client.NewDeduction{OrderID: id, Quantity: 1})
			c.told(id, answer, err)
			if answer.OK() {
				each(c.accepted.Add(1))
			}
		})
	}
	wg.Wait()
}

func (c *crowd) told(id string, answer client.Answer[client.Deduction], err error) {
	c.mu.Lock()
	defer c.mu.Unlock()
	switch {
	case err == nil && answer.OK():
		c.won = append(c.won, id)
	case err == nil && answer.Problem != nil && answer.Problem.Code == client.SoldOut:
	default:
		c.errors = append(c.errors, errors.Join(err, answer.Err()))
	}
}

// everyWinHasItsRow reads every accepted order back.
func (c *crowd) everyWinHasItsRow(p *process) {
	c.t.Helper()
	reader, err := client.NewClientWithResponses(p.url)
	if err != nil {
		c.t.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	for _, id := range c.won {
		busytest.Soon(c.t, "an order can be read", func() bool {
			r, err := reader.ReadDeductionWithResponse(c.t.Context(), c.sku, id, nil)
			if err == nil && r.StatusCode() == http.StatusServiceUnavailable {
				return false
			}
			if err != nil || r.JSON200 == nil || r.JSON200.Quantity != 1 {
				c.t.Fatalf("order %s was accepted and is not there: %v", id, err)
			}
			return true
		})
	}
}

// audited runs the audit command on a live system.
func audited(t *testing.T, url string) {
	t.Helper()
	if r := invoke(t, "audit", "--database-url", url); r.code != 0 {
		t.Errorf("audit: %s%s", r.out, r.err)
	}
}

func TestThreeProcessesSellOneSKU(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := database(t)
	var urls []string
	for range 3 {
		urls = append(urls, serve(t, "--database-url", url, "--redis-url", redisServer.URL()).url)
	}
	for _, args := range [][]string{{"--stock", "997", "--segments", "7", "--buyers", "1500"}, {"--stock", "1000", "--buyers", "1000", "--quantity", "1-5"}} {
		args = append([]string{"demo", "--json", "--concurrency", fewBuyers, "--url", strings.Join(urls, ","), "--database-url", url}, args...)
		r := spawn(t, args...)
		s := parse(t, r)
		exact(t, s)
		if r.code != 0 || s.UnitsSold < s.Stock-4 {
			t.Errorf("%v: exit status %d, %s%s", args, r.code, r.out, r.err)
		}
	}
}

// TestKillOneOfThreeInMidSale: every buyer has an answer in the end, although the dead process has held locks.
func TestKillOneOfThreeInMidSale(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := database(t)
	args := []string{"--database-url", url, "--redis-url", redisServer.URL()}
	processes := []*process{serve(t, args...), serve(t, args...), serve(t, args...)}
	c := newCrowd(t, 600, processes...)
	c.buy(800, func(accepted int64) {
		if accepted == 200 {
			processes[1].end(syscall.SIGKILL)
		}
	})
	if len(c.errors) > 0 || len(c.won) != 600 {
		t.Errorf("%d won of 600, %d errors: %v", len(c.won), len(c.errors), errors.Join(c.errors...))
	}
	c.everyWinHasItsRow(processes[0])
	audited(t, url)
}

// TestKillEmbeddedAndStartAgain: every accepted order is there when another process has opened the file of one that was killed. That
// one starts as soon as one that makes the tables of a new file, beside which it is measured as its control.
func TestKillEmbeddedAndStartAgain(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := sqliteFile(t)
	timed := func(url string) (p *process, took time.Duration) {
		t.Helper()
		start := time.Now()
		return serve(t, "--database-url", url), time.Since(start)
	}
	first, fresh := timed(url)
	c := newCrowd(t, 100000, first)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	inMidSale := make(chan struct{})
	for buyer := range 32 {
		wg.Go(func() {
			c.buyUntil(ctx, buyer, func(accepted int64) {
				if accepted == 500 {
					close(inMidSale)
				}
			})
		})
	}
	busytest.Receive(t, "the middle of the sale", inMidSale)
	first.end(syscall.SIGKILL)
	stop()
	wg.Wait()
	second, again := timed(url)
	for try := 1; again > 2*fresh; try++ {
		if try == 5 {
			t.Fatalf("serving again after %v, and on a new file after %v", again, fresh)
		}
		second.end(syscall.SIGKILL)
		other, took := timed(sqliteFile(t))
		other.end(syscall.SIGKILL)
		fresh = min(fresh, took)
		second, took = timed(url)
		again = min(again, took)
	}
	t.Logf("%d orders were accepted before the kill", len(c.won))
	c.everyWinHasItsRow(second)
	audited(t, url) // while another process owns the file
}

// buyUntil buys one unit after the other until ctx ends, and calls each with the number of accepted orders. An order
// without an answer has no promise.
func (c *crowd) buyUntil(ctx context.Context, buyer int, each func(accepted int64)) {
	for n := 0; ctx.Err() == nil; n++ {
		id := fmt.Sprintf("order-%d-%d", buyer, n)
		answer, err := c.deduct(ctx, buyer, client.NewDeduction{OrderID: id, Quantity: 1})
		if err == nil && answer.OK() {
			c.told(id, answer, nil)
			each(c.accepted.Add(1))
		}
	}
}

func TestFileBelongsToOneProcess(t *testing.T) {
	t.Parallel()
	url := sqliteFile(t)
	owner := serve(t, "--database-url", url)
	oneLine(t, invoke(t, "serve", "--database-url", url, "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"), "in use by another process")
	oneLine(t, invoke(t, "migrate", "down", "--yes", "--database-url", url), "in use by another process")
	audited(t, url)
	if code := owner.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d: %s", code, owner.log.String())
	}
	if r := invoke(t, "migrate", "status", "--database-url", url); r.code != 0 {
		t.Errorf("after the end: %s", r.err)
	}
}

func TestTermFinishesWhatIsInFlight(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := database(t)
	args := []string{"--database-url", url, "--redis-url", redisServer.URL()}
	leaving, staying := serve(t, args...), serve(t, args...)
	c := newCrowd(t, 900, leaving, staying)
	code := make(chan int, 1)
	c.buy(1200, func(accepted int64) {
		if accepted == 200 {
			go func() { code <- leaving.end(syscall.SIGTERM) }()
		}
	})
	if got := busytest.Receive(t, "the end of the process that leaves", code); got != 0 {
		t.Errorf("exit status %d: %s", got, leaving.log.String())
	}
	if len(c.errors) > 0 || len(c.won) != 900 {
		t.Errorf("%d won of 900, %d errors: %v", len(c.won), len(c.errors), errors.Join(c.errors...))
	}
	audited(t, url)
}

// TestTermKeepsItsTimeOut blocks an order on a row that another transaction has locked, until the process has ended.
func TestTermKeepsItsTimeOut(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	url := database(t)
	p := serve(t, "--database-url", url, "--redis-url", redisServer.URL(), "--drain-timeout", "1s")
	c := newCrowd(t, 100, p)
	conn, err := pgx.Connect(t.Context(), url)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close(t.Context())
	if _, err := conn.Exec(t.Context(), "BEGIN; SELECT 1 FROM stock_segments FOR UPDATE"); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(t.Context())
	answered := make(chan error, 1)
	go func() {
		_, err := c.deduct(ctx, 0, client.NewDeduction{OrderID: "a", Quantity: 1})
		answered <- err
	}()
	p.runs("selling.(*Service).DeductBy(")
	if code := p.end(syscall.SIGTERM); code != 1 || !strings.Contains(p.log.String(), "in flight") {
		t.Errorf("exit status %d: %s", code, p.log.String())
	}
	cancel()
	if err := busytest.Receive(t, "the end of the order", answered); err == nil {
		t.Error("the order was answered")
	}
}

// runs waits until a goroutine of the process is in a function.
func (p *process) runs(function string) {
	p.t.Helper()
	busytest.Soon(p.t, "the process is in "+function, func() bool {
		return strings.Contains(p.get("/debug/pprof/goroutine?debug=2"), function)
	})
}

// TestTermDoesNotWaitForAProfile: a request of the admin listener, which takes longer than this test waits, does not delay the end.
func TestTermDoesNotWaitForAProfile(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t), "--drain-timeout", "1h")
	profiling := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/debug/pprof/profile?seconds=290", nil)
		if err == nil {
			var response *http.Response
			if response, err = (&http.Client{Transport: &http.Transport{}}).Do(request); err == nil {
				response.Body.Close()
			}
		}
		profiling <- err
	}()
	p.runs("pprof.Profile(")
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d: %s", code, p.log.String())
	}
	if err := busytest.Receive(t, "the end of the profile", profiling); err == nil {
		t.Error("the profile ran to its end")
	}
}

// get reads from the admin listener.
func (p *process) get(path string) string {
	p.t.Helper()
	request, err := http.NewRequestWithContext(p.t.Context(), http.MethodGet, p.admin+path, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return string(body)
}

func TestPortInUse(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t))
	address := strings.TrimPrefix(p.url, "http://")
	oneLine(t, invoke(t, "serve", "--database-url", sqliteFile(t), "--listen", address), address)
}

func TestDefaultDatabaseIsInTheWorkingDirectory(t *testing.T) {
	t.Parallel()
	folder := t.TempDir()
	command := program(t, "migrate", "up")
	command.Dir = folder
	if out, err := command.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	if _, err := os.Stat(filepath.Join(folder, "inventory.db")); err != nil {
		t.Error(err)
	}
}
