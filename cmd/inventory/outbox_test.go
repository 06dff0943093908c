package main

import (
	"bufio"
	"encoding/json"
	"fmt"
	"strings"
	"syscall"
	"testing"

	"inventory/internal/api/client"
	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// changesIn reads the lines of `outbox read --json`.
func changesIn(t *testing.T, text string) (changes []stock.Change) {
	t.Helper()
	for line := range strings.Lines(text) {
		var c stock.Change
		if err := json.Unmarshal([]byte(line), &c); err != nil {
			t.Fatalf("%q: %v", line, err)
		}
		changes = append(changes, c)
	}
	return changes
}

// TestOutbox turns the outbox of a running service on and off, reads and trims it.
func TestOutbox(t *testing.T) {
	t.Parallel()
	for name, url := range map[string]string{"sqlite": sqliteFile(t), "postgres": database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, "--database-url", url)
			sell := seller(t, p)
			outbox := func(args ...string) string {
				t.Helper()
				r := invoke(t, append(append([]string{"outbox"}, args...), "--database-url", url)...)
				if r.code != 0 {
					t.Fatalf("%v: exit status %d, %s", args, r.code, r.err)
				}
				return r.out
			}
			read := func(n int, args ...string) (changes []stock.Change) {
				t.Helper()
				busytest.Soon(t, "the outbox shows the changes, which transactions of parallel tests delay", func() bool {
					changes = changesIn(t, outbox(append([]string{"read", "--json"}, args...)...))
					return len(changes) >= n
				})
				return changes
			}
			sell("before", 1)
			if got := outbox("on"); got != "the outbox is on\n" {
				t.Errorf("on: %q", got)
			}
			sell("a", 3)
			sell("b", 1)
			if got := outbox("off"); got != "the outbox is off\n" {
				t.Errorf("off: %q", got)
			}
			sell("after", 1)
			got := read(2)
			if len(got) != 2 || got[0].OrderID != "a" || got[0].Quantity != 3 || got[0].SKU != "hot" || got[0].Status != "committed" || got[1].OrderID != "b" {
				t.Errorf("got %+v", got)
			}
			if first := read(1, "--limit", "1"); len(first) != 1 || first[0] != got[0] {
				t.Errorf("the first: %+v", first)
			}
			if rest := read(1, "--after", got[0].Cursor); len(rest) != 1 || rest[0] != got[1] {
				t.Errorf("the rest: %+v", rest)
			}
			if text := outbox("read"); strings.Count(text, "\n") != 2 || !strings.Contains(text, "committed  a  3 x hot") {
				t.Errorf("for people: %s", text)
			}
			if text := outbox("trim", "--before", got[0].Cursor); text != "1 removed\n" {
				t.Errorf("trim: %q", text)
			}
			if rest := read(1); len(rest) != 1 || rest[0] != got[1] {
				t.Errorf("the rest after a trim: %+v", rest)
			}
		})
	}
}

// TestOutboxReaderThatDies kills a reader while it follows; the next reader goes on after its last whole line.
func TestOutboxReaderThatDies(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, url := range map[string]string{"sqlite": sqliteFile(t), "postgres": database(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			p := serve(t, "--database-url", url)
			sell := seller(t, p)
			if r := invoke(t, "outbox", "on", "--database-url", url); r.code != 0 {
				t.Fatal(r.err)
			}
			const lives, each = 3, 15
			sold := make(chan struct{})
			go func() { // while the readers read
				defer close(sold)
				for n := range lives * each {
					sell(fmt.Sprint(n), 1)
				}
			}()
			defer func() { <-sold }()
			var told []string
			after := ""
			for life := range lives {
				command := program(t, "outbox", "read", "--json", "--follow", "--poll", "1ms", "--after", after, "--database-url", url)
				output, err := command.StdoutPipe()
				if err == nil {
					err = command.Start()
				}
				if err != nil {
					t.Fatal(err)
				}
				lines := bufio.NewScanner(output)
				for len(told) < (life+1)*each && lines.Scan() {
					c := changesIn(t, lines.Text())[0]
					told, after = append(told, c.OrderID), c.Cursor
				}
				signal := syscall.SIGKILL
				if life == lives-1 {
					signal = syscall.SIGTERM
				}
				if err := command.Process.Signal(signal); err != nil {
					t.Fatal(err)
				}
				if err := command.Wait(); (err == nil) != (signal == syscall.SIGTERM) {
					t.Errorf("after %s: %v", signal, err)
				}
			}
			for i, id := range told {
				if id != fmt.Sprint(i) {
					t.Fatalf("number %d was %s; all: %v", i, id, told)
				}
			}
		})
	}
}

func TestOutboxThatCannotBe(t *testing.T) {
	t.Parallel()
	file := sqliteFile(t)
	cannotBe(t, nil, []failure{
		{[]string{"outbox", "read", "--database-url", file}, "no SQLite file", statusFailed},
		{[]string{"outbox", "on", "--database-url", file}, "no SQLite file", statusFailed},
		{[]string{"outbox", "on", "--database-url", database(t)}, `relation "outbox" does not exist`, statusFailed},
		{[]string{"outbox", "read", "--database-url", database(t)}, `relation "outbox" does not exist`, statusFailed},
		{[]string{"outbox", "read", "--limit", "-1"}, "--limit", statusUsage},
		{[]string{"outbox", "read", "--poll", "0s"}, "--poll", statusUsage},
		{[]string{"outbox", "read", "--after", "x", "--database-url", database(t)}, `cursor "x"`, statusUsage},
		{[]string{"outbox", "trim", "--database-url", file}, "--before", statusUsage},
	})
}

// seller creates a SKU, and returns a function that sells units of it under an order id.
func seller(t *testing.T, p *process) func(orderID string, quantity int64) {
	t.Helper()
	service, err := client.NewService(p.url, 1, busytest.Patience)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(service.Close)
	if created, err := service.CreateSKU(t.Context(), "hot", client.NewSKU{Stock: 1000}); err != nil || !created.OK() {
		t.Fatal(err, created.Err())
	}
	return func(orderID string, quantity int64) {
		answer, err := service.Deduct(t.Context(), "hot", client.NewDeduction{OrderID: orderID, Quantity: quantity})
		if err != nil || !answer.OK() {
			t.Errorf("order %s: %v %v", orderID, err, answer.Err())
		}
	}
}
