package main

import (
	"encoding/csv"
	"errors"
	"io"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/HdrHistogram/hdrhistogram-go"

	"inventory/loadtest/internal/load"
)

// rawFiles are where a run writes what its figures were made of, and the flags that say so.
type rawFiles struct{ table, log string }

func newRawFiles(t *testing.T) rawFiles {
	t.Helper()
	folder := t.TempDir()
	return rawFiles{filepath.Join(folder, "operations.csv"), filepath.Join(folder, "waits.hlog")}
}

func (f rawFiles) flags() []string { return []string{"--csv", f.table, "--hdr", f.log} }

// outcomes counts operations by what became of their last attempts. Each attempt has its times.
func (f rawFiles) outcomes(t *testing.T) map[string]int64 {
	t.Helper()
	file, err := os.Open(f.table)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	rows, err := csv.NewReader(file).ReadAll()
	if err != nil || len(rows) < 2 {
		t.Fatalf("%v: %d rows", err, len(rows))
	}
	at := map[string]int{}
	for i, name := range rows[0] {
		at[name] = i
	}
	last := map[[2]string]string{} // by part and number
	for _, row := range rows[1:] {
		last[[2]string{row[at["part"]], row[at["operation"]]}] = row[at["outcome"]]
		if row[at["attempt"]] == "0" {
			continue
		}
		sent, err1 := time.Parse(time.RFC3339Nano, row[at["sent"]])
		ended, err2 := time.Parse(time.RFC3339Nano, row[at["ended"]])
		if err := errors.Join(err1, err2); err != nil || ended.Before(sent) {
			t.Errorf("%v: %q", err, row)
		}
	}
	all := map[string]int64{}
	for _, outcome := range last {
		all[outcome]++
	}
	return all
}

// logged is how many waits there are.
func (f rawFiles) logged(t *testing.T) (n int64) {
	t.Helper()
	file, err := os.Open(f.log)
	if err != nil {
		t.Fatal(err)
	}
	defer file.Close()
	log := hdrhistogram.NewHistogramLogReader(file)
	for {
		h, err := log.NextIntervalHistogram()
		if errors.Is(err, io.EOF) || h == nil && err == nil {
			return n
		}
		if err != nil {
			t.Fatal(err)
		}
		n += h.TotalCount()
	}
}

// TestTheColumnsAreExplained in the order in which they are.
func TestTheColumnsAreExplained(t *testing.T) {
	t.Parallel()
	var told []string
	_, table, _ := strings.Cut(readFile(t, filepath.Join(docs, "lab", "answers.md")), "| Column |")
	for line := range strings.Lines(table) {
		names, _, _ := strings.Cut(strings.TrimPrefix(line, "|"), "|")
		for name := range strings.SplitSeq(names, ",") {
			if name = strings.TrimSpace(name); strings.HasPrefix(name, "`") {
				told = append(told, strings.Trim(name, "`"))
			}
		}
	}
	if columns := load.Raw().Columns; !slices.Equal(told, columns) {
		t.Errorf("the document has %q, the table %q", told, columns)
	}
}

// want demands that all operations are there.
func (f rawFiles) want(t *testing.T, want map[string]int64) {
	t.Helper()
	got := f.outcomes(t)
	var all int64
	for outcome, n := range want {
		if all += n; got[outcome] != n {
			t.Errorf("%d operations came to %s, the report says %d", got[outcome], outcome, n)
		}
	}
	if n := f.logged(t); n != all-want["not_sent"] {
		t.Errorf("%d waits of %d operations", n, all)
	}
}
