package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestTailStartsItself runs the program as a person does: it starts itself as the processes, and kills one.
func TestTailStartsItself(t *testing.T) {
	t.Parallel()
	result, raw := filepath.Join(t.TempDir(), "result.json"), newRawFiles(t)
	args := append([]string{"tail", "--tiny", "--lock=fair", "--seed=7", "--json", result}, raw.flags()...)
	out, err := exec.CommandContext(t.Context(), program, args...).CombinedOutput()
	if err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	text, err := os.ReadFile(result)
	if err != nil {
		t.Fatal(err)
	}
	var got struct {
		Scenario string `json:"scenario"`
		Seed     uint64 `json:"seed"`
		AuditOK  bool   `json:"audit_ok"`
		Figures  []any  `json:"figures"`
		Flags    []any  `json:"flags"`
		Rounds   []struct {
			Sold    int64 `json:"sold"`
			Dropped int64 `json:"dropped"`
		} `json:"rounds"`
	}
	if err := json.Unmarshal(text, &got); err != nil || got.Scenario != "tail" || got.Seed != 7 || !got.AuditOK || len(got.Figures) == 0 || len(got.Flags) == 0 {
		t.Errorf("%v: %s", err, text)
	}
	told := raw.outcomes(t)
	for _, round := range got.Rounds {
		told["accepted"], told["dropped"] = told["accepted"]-round.Sold, told["dropped"]-round.Dropped
	}
	// The rest of the accepted orders brought the SKUs to their tails.
	if len(got.Rounds) != 2 || told["accepted"]+told["replayed"] <= 0 || told["dropped"] != 0 || raw.logged(t) == 0 {
		t.Errorf("%d rounds, beside their orders %v", len(got.Rounds), told)
	}
}

func TestTailWithWrongFlags(t *testing.T) {
	t.Parallel()
	nobody := freeAddress(t)
	for name, c := range map[string]struct {
		args []string
		says string
	}{
		"rounds":   {[]string{"--rounds=0"}, "--rounds"},
		"stock":    {[]string{"--stock=99"}, "--stock"},
		"segments": {[]string{"--segments=1025"}, "--segments"},
		"rate":     {[]string{"--rate=NaN"}, "--rate"},
		"lock":     {[]string{"--lock=ab"}, "--lock"},
		"no database": {
			[]string{"--redis-url=redis://" + nobody, "--database-url=postgres://me:secret@" + nobody + "/db"}, "reach PostgreSQL",
		},
		"one Redis for a RedLock": {
			[]string{"--lock=redlock", "--redis-url=redis://" + nobody, "--database-url=postgres://me:secret@" + nobody + "/db"}, "--redis-url",
		},
		"result": {[]string{"--json=none/there.json"}, "--json"},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			got := runWith(t.Context(), append([]string{"tail"}, c.args...)...)
			got.wantOneLine(t, c.says)
		})
	}
}
