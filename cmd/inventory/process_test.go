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
)

// process is one `inventory serve`.
type process struct {
	*testing.T
	url, admin string
	command    *exec.Cmd
	ready      chan struct{} // closed when it listens
	ended      chan struct{} // closed when it has ended and its output was read
	log        strings.Builder
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

// launch starts a process.
func launch(t *testing.T, args ...string) *process {
	t.Helper()
	p := &process{T: t, ready: make(chan struct{}), ended: make(chan struct{})}
	args = append([]string{"serve", "--listen", "127.0.0.1:0", "--admin-listen", "127.0.0.1:0"}, args...)
	p.command = program(t, args...)
	output, err := p.command.StderrPipe()
	if err == nil {
		err = p.command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	go func() {
		defer close(p.ended)
		for lines := bufio.NewScanner(output); lines.Scan(); {
			p.log.WriteString(lines.Text() + "\n")
			if found := listening.FindStringSubmatch(lines.Text()); found != nil {
				p.url, p.admin = found[1], found[2]
				close(p.ready)
			}
		}
	}()
	t.Cleanup(func() { p.end(syscall.SIGKILL) })
	return p
}

// listens waits until a process does.
func (p *process) listens() {
	p.Helper()
	select {
	case <-p.ready:
	case <-p.ended:
		p.Fatalf("did not start: %s", p.log.String())
	}
}

// end sends a signal and waits for the end; it returns the exit status, -1 for a killed process.
func (p *process) end(signal syscall.Signal) int {
	p.Helper()
	if p.command.ProcessState != nil {
		return p.command.ProcessState.ExitCode()
	}
	if err := p.command.Process.Signal(signal); err != nil && !errors.Is(err, os.ErrProcessDone) {
		p.Error(err)
	}
	<-p.ended
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
	*testing.T
	sku      string
	services []*client.Service
	accepted atomic.Int64
	mu       sync.Mutex
	won      []string
	errors   []error
}

func newCrowd(t *testing.T, stock int64, processes ...*process) *crowd {
	t.Helper()
	c := &crowd{T: t, sku: "hot"}
	for _, p := range processes {
		service, err := client.NewService(p.url, 64, time.Millisecond) // the next process is tried at once
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(service.Close)
		c.services = append(c.services, service)
	}
	created, err := c.services[0].CreateSKU(t.Context(), c.sku, client.NewSKU{Stock: stock})
	if err = errors.Join(err, created.Err()); err != nil {
		t.Fatal(err)
	}
	return c
}

// deduct sends an order to a process, and to the next one while there is no final answer, for up to 20 s.
func (c *crowd) deduct(ctx context.Context, buyer int, order client.NewDeduction) (answer client.Answer[client.Deduction], err error) {
	ctx, cancel := context.WithTimeout(ctx, 20*time.Second)
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
	c.Helper()
	var wg sync.WaitGroup
	turns := make(chan struct{}, 64)
	for i := range n {
		turns <- struct{}{}
		wg.Go(func() {
			defer func() { <-turns }()
			id := fmt.Sprintf("order-%06d", i)
			answer, err := c.deduct(c.Context(), i, client.NewDeduction{OrderID: id, Quantity: 1})
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
	c.Helper()
	reader, err := client.NewClientWithResponses(p.url)
	if err != nil {
		c.Fatal(err)
	}
	defer http.DefaultClient.CloseIdleConnections()
	for _, id := range c.won {
		r, err := reader.ReadDeductionWithResponse(c.Context(), c.sku, id, nil)
		if err != nil || r.JSON200 == nil || r.JSON200.Quantity != 1 {
			c.Fatalf("order %s was accepted and is not there: %v", id, err)
		}
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
	t.Parallel()
	url := database(t)
	var urls []string
	for range 3 {
		urls = append(urls, serve(t, "--database-url", url, "--redis-url", redisServer.URL()).url)
	}
	for _, args := range [][]string{{"--stock", "1997", "--segments", "7", "--buyers", "3000"}, {"--stock", "2000", "--buyers", "2000", "--quantity", "1-5"}} {
		args = append([]string{"demo", "--json", "--url", strings.Join(urls, ","), "--database-url", url}, args...)
		r := spawn(t, args...)
		s := parse(t, r)
		exact(t, s)
		if r.code != 0 || s.UnitsSold < s.Stock-4 {
			t.Errorf("%v: exit status %d, %s%s", args, r.code, r.out, r.err)
		}
	}
}

func TestKillOneOfThreeInMidSale(t *testing.T) {
	t.Parallel()
	url := database(t)
	args := []string{"--database-url", url, "--redis-url", redisServer.URL()}
	processes := []*process{serve(t, args...), serve(t, args...), serve(t, args...)}
	c := newCrowd(t, 1200, processes...)
	start := time.Now()
	c.buy(1600, func(accepted int64) {
		if accepted == 300 {
			processes[1].end(syscall.SIGKILL)
		}
	})
	// A lease is 5 s; the locks of the dead process delay the others by less.
	if took := time.Since(start); took > 30*time.Second {
		t.Errorf("the others needed %v", took)
	}
	if len(c.errors) > 0 || len(c.won) != 1200 {
		t.Errorf("%d won of 1200, %d errors: %v", len(c.won), len(c.errors), errors.Join(c.errors...))
	}
	c.everyWinHasItsRow(processes[0])
	audited(t, url)
}

func TestKillEmbeddedAndStartAgain(t *testing.T) {
	t.Parallel()
	url := sqliteFile(t)
	first := serve(t, "--database-url", url)
	c := newCrowd(t, 100000, first)
	ctx, stop := context.WithCancel(t.Context())
	var wg sync.WaitGroup
	inMidSale := make(chan struct{})
	for buyer := range 32 {
		wg.Go(func() {
			c.buyUntil(ctx, buyer, func(accepted int64) {
				if accepted == 1000 {
					close(inMidSale)
				}
			})
		})
	}
	<-inMidSale
	first.end(syscall.SIGKILL)
	stop()
	wg.Wait()
	start := time.Now()
	second := serve(t, "--database-url", url)
	if took := time.Since(start); took > time.Second {
		t.Errorf("serving again after %v", took)
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
	oneLine(t, invoke(t, "migrate", "down", "--database-url", url), "in use by another process")
	audited(t, url)
	if code := owner.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d: %s", code, owner.log.String())
	}
	if r := invoke(t, "migrate", "status", "--database-url", url); r.code != 0 {
		t.Errorf("after the end: %s", r.err)
	}
}

func TestTermFinishesWhatIsInFlight(t *testing.T) {
	t.Parallel()
	url := database(t)
	args := []string{"--database-url", url, "--redis-url", redisServer.URL()}
	leaving, staying := serve(t, args...), serve(t, args...)
	c := newCrowd(t, 3000, leaving, staying)
	code := make(chan int, 1)
	c.buy(4000, func(accepted int64) {
		if accepted == 500 {
			go func() { code <- leaving.end(syscall.SIGTERM) }()
		}
	})
	if got := <-code; got != 0 {
		t.Errorf("exit status %d: %s", got, leaving.log.String())
	}
	if len(c.errors) > 0 || len(c.won) != 3000 {
		t.Errorf("%d won of 3000, %d errors: %v", len(c.won), len(c.errors), errors.Join(c.errors...))
	}
	audited(t, url)
}

// TestTermKeepsItsTimeOut blocks an order on a row that another transaction has locked.
func TestTermKeepsItsTimeOut(t *testing.T) {
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
	for !strings.Contains(p.get("/debug/pprof/goroutine?debug=2"), "selling.(*Service).Deduct(") {
		if t.Context().Err() != nil {
			t.Fatal("the order has not arrived")
		}
	}
	start := time.Now()
	code := p.end(syscall.SIGTERM)
	if took := time.Since(start); took > 6*time.Second {
		t.Errorf("it took %v", took)
	}
	if code != 1 || !strings.Contains(p.log.String(), "in flight") {
		t.Errorf("exit status %d: %s", code, p.log.String())
	}
	cancel()
	if err := <-answered; err == nil {
		t.Error("the order was answered")
	}
}

// TestTermDoesNotWaitForAProfile: a request of the admin listener does not delay the end.
func TestTermDoesNotWaitForAProfile(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", sqliteFile(t))
	profiling := make(chan error, 1)
	go func() {
		request, err := http.NewRequestWithContext(t.Context(), http.MethodGet, p.admin+"/debug/pprof/profile?seconds=60", nil)
		if err == nil {
			var response *http.Response
			if response, err = (&http.Client{Transport: &http.Transport{}}).Do(request); err == nil {
				response.Body.Close()
			}
		}
		profiling <- err
	}()
	for !strings.Contains(p.get("/debug/pprof/goroutine?debug=2"), "pprof.Profile(") {
		if t.Context().Err() != nil {
			t.Fatal("the profile has not begun")
		}
	}
	start := time.Now()
	if code := p.end(syscall.SIGTERM); code != 0 {
		t.Errorf("exit status %d: %s", code, p.log.String())
	}
	if took := time.Since(start); took > 5*time.Second {
		t.Errorf("it took %v", took)
	}
	if err := <-profiling; err == nil {
		t.Error("the profile ran to its end")
	}
}

// get reads from the admin listener.
func (p *process) get(path string) string {
	p.Helper()
	request, err := http.NewRequestWithContext(p.Context(), http.MethodGet, p.admin+path, nil)
	if err != nil {
		p.Fatal(err)
	}
	client := &http.Client{Transport: &http.Transport{DisableKeepAlives: true}}
	response, err := client.Do(request)
	if err != nil {
		p.Fatal(err)
	}
	defer response.Body.Close()
	body, err := io.ReadAll(response.Body)
	if err != nil {
		p.Fatal(err)
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
