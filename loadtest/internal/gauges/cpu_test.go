//go:build linux

package gauges

import (
	"bufio"
	"context"
	"fmt"
	"io"
	"os"
	"os/exec"
	"testing"
	"time"
)

// helper is the test program in another process, which waits for a line before it works.
func helper(t *testing.T, what string) (pid int, work func()) {
	t.Helper()
	command := exec.Command(os.Args[0], what)
	command.Stderr = os.Stderr
	in, err := command.StdinPipe()
	if err != nil {
		t.Fatal(err)
	}
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		_ = in.Close()
		_, _ = io.Copy(io.Discard, out)
		if err := command.Wait(); err != nil {
			t.Error(err)
		}
	})
	return command.Process.Pid, func() {
		t.Helper()
		if _, err := fmt.Fprintln(in); err != nil {
			t.Fatal(err)
		}
		if said := bufio.NewScanner(out); !said.Scan() {
			t.Fatal("the process has not worked")
		}
	}
}

func read(t *testing.T, clock func(context.Context) (float64, error)) float64 {
	t.Helper()
	seconds, err := clock(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	return seconds
}

func TestProcessorTimeOfAnotherProcessShows(t *testing.T) {
	t.Parallel()
	pid, work := helper(t, burns)
	before := read(t, alone(pid))
	work()
	if used := read(t, alone(pid)) - before; used < 0.8*burnt.Seconds() || used > 2*burnt.Seconds() {
		t.Errorf("%v s instead of %v", used, burnt)
	}
}

func TestChildrenThatHaveEndedAreCounted(t *testing.T) {
	t.Parallel()
	pid, work := helper(t, begets)
	before := read(t, alone(pid))
	family := Start(t.Context(), Sources{PostmasterPID: pid}, time.Hour)
	work()
	own, all := read(t, alone(pid))-before, family.Stop().CPU(PostgreSQL)
	if all < own+0.8*burnt.Seconds() {
		t.Errorf("%v s with the child, %v s without; the child used %v", all, own, burnt)
	}
}

func TestTheGeneratorsOwnTimeShows(t *testing.T) {
	t.Parallel()
	sampler := Start(t.Context(), Sources{GeneratorSelf: true}, time.Hour)
	if err := burn(burnt.Seconds()); err != nil {
		t.Fatal(err)
	}
	got := sampler.Stop()
	// The machine's time is counted in ticks: a short time may be a few of them wrong, which is too much of a tenth of a second.
	if used, all := got.CPU(Generator), got.CPU(Machine); used < burnt.Seconds() || all < 0.9*used {
		t.Errorf("%v s, and %v s of the whole machine", used, all)
	}
}

func TestAProcessThatIsGoneIsSaidOnce(t *testing.T) {
	t.Parallel()
	const nobody = 1<<22 + 1 // beyond the largest id
	got := Start(t.Context(), Sources{PostmasterPID: nobody}, time.Hour).Stop()
	if len(got.Notes) != 1 {
		t.Errorf("notes %q", got.Notes)
	}
}
