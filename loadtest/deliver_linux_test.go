package main

import (
	"path/filepath"
	"strings"
	"testing"
)

// TestAFullDiskIsToldInOneLine writes to Linux's file that is always full. Other outputs get the report anyway.
func TestAFullDiskIsToldInOneLine(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ full, kept string }{{"--json", "--html"}, {"--html", "--json"}} {
		file := filepath.Join(t.TempDir(), "kept")
		got := (&measured{document: aRun(30)}).with(t, c.full, "/dev/full", c.kept, file)
		if got.code != 1 || strings.Count(got.err, "\n") != 1 || !strings.Contains(got.err, c.full) || !strings.Contains(got.err, "no space left") {
			t.Errorf("%s on a full disk: exit status %d, standard error %q", c.full, got.code, got.err)
		}
		if kept := readFile(t, file); !strings.Contains(kept, "all was sold") || !strings.Contains(got.out, "all was sold") {
			t.Errorf("%s on a full disk: %s has %q, printed is %q", c.full, c.kept, kept, got.out)
		}
	}
}
