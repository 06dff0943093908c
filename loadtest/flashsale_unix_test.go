//go:build unix

package main

import (
	"bufio"
	"bytes"
	"os"
	"strings"
	"syscall"
	"testing"
)

// TestCtrlCReachesTheServiceToo interrupts all processes of the lab, as a terminal does. The service answers what is under
// way all the same, so every order that was accepted was heard of. By the storm of retries some were. Nothing is left behind.
func TestCtrlCReachesTheServiceToo(t *testing.T) {
	t.Parallel()
	command := program(t, smallSale("--json=-", "--stock=100000", "--storm-for=5m")...)
	folder := t.TempDir()
	command.Env = append(command.Env, "TMPDIR="+folder)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out bytes.Buffer
	command.Stdout = &out
	errs, err := command.StderrPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	var told strings.Builder
	interrupted := false
	for lines := bufio.NewScanner(errs); lines.Scan(); {
		told.WriteString(lines.Text() + "\n")
		if strings.Contains(lines.Text(), "storm") && !interrupted {
			interrupted = true
			if err := syscall.Kill(-command.Process.Pid, syscall.SIGINT); err != nil {
				t.Fatal(err)
			}
		}
	}
	if err := command.Wait(); err == nil || !strings.Contains(told.String(), "the sale was stopped: interrupt") {
		t.Errorf("%v, told %q", err, &told)
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	d := readReport(t, out.String())
	if became := requests(d); !d.Interrupted || !d.AuditOK() || became["accepted"] == 0 || became["no answer"]+became["failed"] > 0 {
		t.Errorf("interrupted: %t, want true; wrong: %q, want nothing; requests %v, want none without an answer", d.Interrupted, d.Wrong, became)
	}
}
