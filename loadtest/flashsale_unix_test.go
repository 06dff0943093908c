//go:build unix

package main

import (
	"os"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/loadtest/internal/history"
)

// TestCtrlCReachesTheServiceToo interrupts all processes of the lab, as a terminal does, when an order was accepted. The service
// answers what is under way all the same, so every order that was accepted was heard of. Nothing is left behind.
func TestCtrlCReachesTheServiceToo(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	command := program(t, smallSale("--json=-", "--stock=100000", "--storm-for=5m")...)
	folder := t.TempDir()
	command.Env = append(command.Env, "TMPDIR="+folder)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true}
	var out, told busytest.Log
	command.Stdout, command.Stderr = &out, &told
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	busytest.Soon(t, "an order of the sale is accepted", func() bool { return hasSold(t, folder) })
	if err := syscall.Kill(-command.Process.Pid, syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err == nil || !strings.Contains(told.String(), "the sale was stopped: interrupt") {
		t.Errorf("%v, told %q", err, told.String())
	}
	if left, err := os.ReadDir(folder); err != nil || len(left) > 0 {
		t.Errorf("left behind: %v, %v", left, err)
	}
	d := readReport(t, out.String())
	if became := requests(d); !d.Interrupted || !d.AuditOK() || became["accepted"] == 0 || became["no answer"]+became["failed"] > 0 {
		t.Errorf("interrupted: %t, want true; wrong: %q, want nothing; requests %v, want none without an answer", d.Interrupted, d.Wrong, became)
	}
}

// hasSold reports whether the service whose SQLite file is somewhere below a folder has sold units of a sale, and not of its
// warm-up alone.
func hasSold(t *testing.T, folder string) bool {
	t.Helper()
	files, err := filepath.Glob(filepath.Join(folder, "*", "inventory.db"))
	if err != nil {
		t.Fatal(err)
	}
	if len(files) == 0 {
		return false
	}
	audit, err := history.AuditRows(t.Context(), "sqlite:"+files[0])
	return err == nil && slices.ContainsFunc(audit.SKUs, func(b stock.Balance) bool { return strings.HasPrefix(b.SKU, "flash-") && b.Committed > 0 })
}
