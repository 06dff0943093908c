//go:build unix

package worker

import (
	"context"
	"os"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"inventory/internal/busytest"
)

// TestMain makes the test program the workers that it starts.
func TestMain(m *testing.M) {
	Main(map[string]Work{"twice": twice, "hangs": func(_ context.Context, lab *Lab) error {
		if err := lab.Go(); err != nil {
			return err
		}
		select {}
	}, "fails": func(_ context.Context, lab *Lab) error {
		if err := lab.Read(new(any)); err != nil {
			return err
		}
		return context.DeadlineExceeded
	}})
	busytest.Main(m)
}

// twice doubles numbers, and says how far it came when it is interrupted.
func twice(ctx context.Context, lab *Lab) error {
	var n int
	if err := lab.Read(&n); err != nil {
		return err
	}
	for err := lab.Say(os.Getpid()); err == nil && n != 0; err = lab.Say(2 * n) {
		if err := lab.Read(&n); err != nil {
			return nil
		}
	}
	<-ctx.Done()
	return lab.Say("interrupted")
}

func start7(ctx context.Context, t *testing.T) (p *Process, pid int) {
	t.Helper()
	p, err := Start(ctx, Job{Kind: "twice", Job: 7, Limit: time.Hour}, &pid)
	if err != nil {
		t.Fatal(err)
	}
	return p, pid
}

func TestWorkerAnswersAsOftenAsItIsAsked(t *testing.T) {
	t.Parallel()
	p, pid := start7(t.Context(), t)
	if pid != p.PID() {
		t.Errorf("the worker is process %d, want %d", pid, p.PID())
	}
	if err := p.known().SendSignal(syscall.SIGINT); err != nil { // as a terminal does
		t.Error(err)
	}
	for _, n := range []int{1, 21} {
		var got int
		if err := p.Ask(n, &got); err != nil || got != 2*n {
			t.Errorf("twice %d is %d, %v", n, got, err)
		}
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

func TestInterruptedWorkerTellsWhatItHasDone(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p, _ := start7(ctx, t)
	if err := p.Ask(0, nil); err != nil {
		t.Error(err)
	}
	interrupt()
	var said string
	if err := p.read(&said); err != nil || said != "interrupted" {
		t.Errorf("said %q, %v", said, err)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

func TestErrorOfAWorkerIsTold(t *testing.T) {
	t.Parallel()
	for kind, says := range map[string]string{"fails": "start the fails: context deadline exceeded", "nobody": `there is no worker "nobody"`} {
		_, err := Start(t.Context(), Job{Kind: kind, Limit: time.Hour}, nil)
		if err == nil || !strings.Contains(err.Error(), says) {
			t.Errorf("worker %s: %v, want %q", kind, err, says)
		}
	}
}

func TestTeamPlaysAgain(t *testing.T) {
	t.Parallel()
	team, err := Assemble(t.Context(), "twice", time.Hour, []int{1, 2})
	if err != nil {
		t.Fatal(err)
	}
	for range 2 {
		got, err := Play[int](team, 4, time.Hour)
		if err != nil || !slices.Equal(got, []int{8, 8}) {
			t.Errorf("%v, %v; want 8 of each of two", got, err)
		}
	}
	if err := team.End(); err != nil {
		t.Error(err)
	}
}

func TestHungWorkersAreKilled(t *testing.T) {
	t.Parallel()
	if _, err := Compete[string](t.Context(), "hangs", 50*time.Millisecond, []int{7}); err == nil || !strings.Contains(err.Error(), "hung: no answer within 50ms") {
		t.Error(err)
	}
}
