//go:build unix

package worker

import (
	"context"
	"strings"
	"syscall"
	"testing"
	"time"
)

// shell is a process that says when it is ready, and does something when it is interrupted.
func shell(onInterrupt string) []string {
	return []string{"sh", "-c", "read job; trap '" + onInterrupt + "' INT; echo ready $job; while :; do sleep 0.01; done"}
}

// TestWhoIsInterruptedTellsWhatItHasDone, and that it was is no error.
func TestWhoIsInterruptedTellsWhatItHasDone(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p, err := Start(ctx, shell("echo sold; exit 0"), 7, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if said, err := p.ReadLine(); err != nil || said != "ready 7" {
		t.Errorf("%q, %v", said, err)
	}
	interrupt()
	if said, err := p.ReadLine(); err != nil || said != "sold" {
		t.Errorf("%q, %v", said, err)
	}
	if err := p.End(); err != nil {
		t.Error(err)
	}
}

// TestWhoFailsWhenInterruptedSaysSo as any other process does.
func TestWhoFailsWhenInterruptedSaysSo(t *testing.T) {
	t.Parallel()
	ctx, interrupt := context.WithCancel(t.Context())
	defer interrupt()
	p, err := Start(ctx, shell("echo lost >&2; exit 3"), nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := p.ReadLine(); err != nil {
		t.Error(err)
	}
	interrupt()
	if err := p.End(); err == nil || !strings.Contains(err.Error(), "exit status 3: lost") {
		t.Error(err)
	}
}

// TestSignalsOfATerminalDoNotReachIt: those go to the foreground process group.
func TestSignalsOfATerminalDoNotReachIt(t *testing.T) {
	t.Parallel()
	p, err := Start(t.Context(), []string{"sh", "-c", "read job; read more"}, nil, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	group, err := syscall.Getpgid(p.command.Process.Pid)
	if err != nil || group == syscall.Getpgrp() {
		t.Errorf("%v: it is of the group %d, as this program is", err, group)
	}
	_ = p.End() // its input is closed, so the second read fails
}
