package contenders

import (
	"bytes"
	"context"
	_ "embed"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"time"

	"inventory/loadtest/internal/load"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

//go:embed wrk.lua
var wrkScript []byte

// wrk is the program of that name, which makes little of the load on the machine itself.
type wrk struct{ program string }

func (wrk) name() string { return "wrk (two threads, wrk.lua)" }

const (
	wrkThreads = 2
	// wrkPatience is how long an answer may take; an overloaded service refuses sooner.
	wrkPatience = 10 * time.Second
	// wrkKey is the variable in which wrk.lua looks for the API key.
	wrkKey = "INVENTORY_API_KEY"
)

// drive implements generator.
func (w wrk) drive(ctx context.Context, l traffic) (r round, err error) {
	var files servers.Closers
	defer func() { err = errors.Join(err, files.Close()) }()
	folder, err := files.Folder()
	if err != nil {
		return round{}, err
	}
	arguments, err := wrkArguments(folder, l)
	if err != nil {
		return round{}, fmt.Errorf("write the files of wrk: %w", err)
	}
	ctx, cancel := context.WithTimeout(ctx, l.window+2*wrkPatience)
	defer cancel()
	command := worker.Command(ctx, w.program, arguments...) // an interrupted wrk reports what it has counted
	command.Env = append(os.Environ(), wrkKey+"="+l.key)    // and not as an argument, which others on the machine can see
	var out bytes.Buffer
	command.Stdout, command.Stderr = &out, &out
	if err := command.Run(); err != nil && !errors.Is(err, context.Canceled) {
		return round{}, fmt.Errorf("run wrk: %w: %s", err, out.String())
	}
	said, err := readWrk(out.String())
	if err != nil {
		return round{}, err
	}
	return said.round()
}

// wrkArguments writes what wrk reads, and returns its command line.
func wrkArguments(folder string, l traffic) ([]string, error) {
	script, ids := filepath.Join(folder, "wrk.lua"), "random"
	winners, err := wrkFile(filepath.Join(folder, "winners"), l.winners)
	if err != nil {
		return nil, err
	}
	skus, err := wrkFile(filepath.Join(folder, "skus"), l.skus)
	if err != nil {
		return nil, err
	}
	if err := os.WriteFile(script, wrkScript, 0o600); err != nil {
		return nil, err
	}
	if l.growing {
		ids = "growing"
	}
	seconds := max(1, int(math.Ceil(l.window.Seconds())))
	return []string{
		"--threads", strconv.Itoa(wrkThreads), "--connections", strconv.Itoa(l.connections),
		"--duration", strconv.Itoa(seconds) + "s", "--timeout", strconv.Itoa(int(wrkPatience.Seconds())) + "s",
		"--script", script, l.url, "--", ids, strconv.Itoa(l.again), winners, l.buyer, l.reserveFor, strconv.Itoa(l.together), l.sku, skus,
	}, nil
}

// wrkFile writes lines for wrk.lua, and returns the name; "-" where there are none.
func wrkFile(name string, lines []string) (string, error) {
	if len(lines) == 0 {
		return "-", nil
	}
	return name, os.WriteFile(name, []byte(strings.Join(lines, "\n")), 0o600)
}

// wrkResult is what wrk.lua prints.
type wrkResult struct {
	Sent          int64  `json:"sent"`
	Repeated      int64  `json:"repeated"`
	Accepted      int64  `json:"accepted"`
	Replayed      int64  `json:"replayed"`
	Refused       int64  `json:"refused"`
	Wrong         int64  `json:"wrong"`
	FirstWrong    string `json:"first_wrong"`
	ConnectErrors int64  `json:"connect_errors"`
	ReadErrors    int64  `json:"read_errors"`
	WriteErrors   int64  `json:"write_errors"`
	Timeouts      int64  `json:"timeouts"`
	Microseconds  int64  `json:"microseconds"`
	P50           int64  `json:"p50_us"`
	P99           int64  `json:"p99_us"`
}

func readWrk(out string) (said wrkResult, err error) {
	_, line, found := strings.Cut(out, "\nresult ")
	line, _, _ = strings.Cut(line, "\n")
	if !found {
		return wrkResult{}, fmt.Errorf("wrk has no result: %s", out)
	}
	if err := json.Unmarshal([]byte(line), &said); err != nil {
		return wrkResult{}, fmt.Errorf("understand wrk: %w: %s", err, line)
	}
	return said, nil
}

// round is the result of wrk, which closes its connections at the end of the window.
func (w wrkResult) round() (round, error) {
	r := round{
		counts:     load.Counts{load.Accepted: w.Accepted, load.Replayed: w.Replayed, load.Refused: w.Refused},
		repeated:   w.Repeated,
		unanswered: w.Sent - w.Accepted - w.Replayed - w.Refused - w.Wrong,
		took:       microseconds(w.Microseconds), p50: microseconds(w.P50), p99: microseconds(w.P99),
	}
	if w.Wrong > 0 {
		return r, fmt.Errorf("%d of %d answers are wrong, one is: %s", w.Wrong, w.Sent, w.FirstWrong)
	}
	if n := w.ConnectErrors + w.ReadErrors + w.WriteErrors + w.Timeouts; n > 0 {
		return r, fmt.Errorf("%d connections were not made, %d reads and %d writes failed, %d answers took more than %v",
			w.ConnectErrors, w.ReadErrors, w.WriteErrors, w.Timeouts, wrkPatience)
	}
	return r, nil
}

func microseconds(n int64) time.Duration { return time.Duration(n) * time.Microsecond }
