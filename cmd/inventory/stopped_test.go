package main

import (
	"bufio"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"strings"
	"syscall"
	"testing"
	"time"

	"inventory/internal/api/client"
	"inventory/internal/busytest"
)

// TestStoppedProcessIgnoresLateRequests: a process is stopped with a request in its socket. When it goes on, it writes nothing for
// a caller whose time is over.
func TestStoppedProcessIgnoresLateRequests(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for store, open := range map[string]func(*testing.T) []string{
		"SQLite": func(t *testing.T) []string { return []string{"--database-url", sqliteFile(t)} },
		"PostgreSQL": func(t *testing.T) []string {
			return []string{"--database-url", database(t), "--redis-url", redisServer.URL()}
		},
	} {
		t.Run(store, func(t *testing.T) {
			t.Parallel()
			p := serve(t, open(t)...)
			c := newCrowd(t, 100, p)
			for _, o := range []client.NewDeduction{{OrderID: "reserved", Quantity: 1, ReserveFor: new("1h")}, {OrderID: "committed", Quantity: 1}} {
				if answer, err := c.deduct(t.Context(), 0, o); err != nil || !answer.OK() {
					t.Fatal(err, answer.Err())
				}
			}
			for path, body := range map[string]string{
				"/v1/skus/hot/deductions":                  `{"order_id":"late","quantity":1}`,
				"/v1/skus/hot/deductions/reserved/commit":  ``,
				"/v1/skus/hot/deductions/reserved/extend":  `{"ref":"late","reserve_for":"1h"}`,
				"/v1/skus/hot/deductions/reserved/cancel":  `{"ref":"late","quantity":1}`,
				"/v1/skus/hot/deductions/committed/cancel": ``,
				"/v1/orders":           `{"order_id":"late","lines":[{"sku":"hot","quantity":1}]}`,
				"/v1/skus/hot/restock": `{"ref":"late","quantity":1}`,
			} {
				p.stoppedUntilLate(path, body)
			}
			for path, want := range map[string]string{
				"/v1/skus/hot/deductions/late":      `"code":"unknown_deduction"`,
				"/v1/skus/hot/deductions/reserved":  `"status":"reserved"`,
				"/v1/skus/hot/deductions/committed": `"status":"committed"`,
				"/v1/skus/hot":                      `"stock":100,"available":98,`,
			} {
				if got := p.read(path); !strings.Contains(got, want) {
					t.Errorf("%s: %s, want %s", path, got, want)
				}
			}
		})
	}
}

// stoppedUntilLate stops a process with a request in the socket of a connection that it has accepted, and lets it go on when the
// deadline of the request has passed.
func (p *process) stoppedUntilLate(path, body string) {
	p.t.Helper()
	conn, err := net.Dial("tcp", strings.TrimPrefix(p.url, "http://"))
	if err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() { conn.Close() })
	answers := bufio.NewReader(conn)
	p.send(conn, "GET /openapi.yaml HTTP/1.1\r\nHost: "+conn.RemoteAddr().String()+"\r\n\r\n")
	p.answer(answers)
	p.stop()
	const patience = 10 * time.Millisecond
	deadline := time.Now().Add(patience)
	head := fmt.Sprintf("POST %s HTTP/1.1\r\nHost: %s\r\nContent-Length: %d\r\n", path, conn.RemoteAddr(), len(body))
	if body != "" {
		head += "Content-Type: application/json\r\n"
	}
	head += "Request-Deadline: " + deadline.UTC().Format(time.RFC3339Nano) + "\r\n"
	p.send(conn, head+"\r\n"+body)
	time.Sleep(time.Until(deadline) + patience)
	p.signal(syscall.SIGCONT)
	if status, text := p.answer(answers); status != http.StatusRequestTimeout {
		p.t.Errorf("%s, too late: %d %s", path, status, text)
	}
}

// stop stops a process, and waits until it is stopped.
func (p *process) stop() {
	p.t.Helper()
	p.signal(syscall.SIGSTOP)
	busytest.Soon(p.t, "the process is stopped", func() bool {
		var status syscall.WaitStatus
		_, err := syscall.Wait4(p.command.Process.Pid, &status, syscall.WUNTRACED|syscall.WNOHANG, nil)
		if err != nil && !errors.Is(err, syscall.EINTR) {
			p.t.Fatal(err)
		}
		return err == nil && status.Stopped()
	})
}

func (p *process) signal(s syscall.Signal) {
	p.t.Helper()
	if err := p.command.Process.Signal(s); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) send(conn net.Conn, text string) {
	p.t.Helper()
	if _, err := io.WriteString(conn, text); err != nil {
		p.t.Fatal(err)
	}
}

func (p *process) answer(from *bufio.Reader) (status int, body string) {
	p.t.Helper()
	response, err := http.ReadResponse(from, nil)
	if err != nil {
		p.t.Fatal(err)
	}
	defer response.Body.Close()
	text, err := io.ReadAll(response.Body)
	if err != nil {
		p.t.Fatal(err)
	}
	return response.StatusCode, string(text)
}

// read reads a path of the public listener.
func (p *process) read(path string) (body string) {
	p.t.Helper()
	busytest.Soon(p.t, "the service can read", func() bool {
		response, err := http.Get(p.url + path)
		if err != nil {
			p.t.Fatal(err)
		}
		defer response.Body.Close()
		text, err := io.ReadAll(response.Body)
		if err != nil {
			p.t.Fatal(err)
		}
		body = string(text)
		return response.StatusCode != http.StatusServiceUnavailable
	})
	return body
}
