//go:build unix

package main

import (
	"bytes"
	"os/exec"
	"strings"
	"sync"
	"syscall"
	"testing"

	"inventory/loadtest/internal/report"
)

// onText does something once, when what was written has a text in it.
type onText struct {
	mu   sync.Mutex
	text bytes.Buffer
	says string
	do   func()
	once sync.Once
}

func (w *onText) Write(text []byte) (int, error) {
	w.mu.Lock()
	defer w.mu.Unlock()
	w.text.Write(text)
	if strings.Contains(w.text.String(), w.says) {
		w.once.Do(w.do)
	}
	return len(text), nil
}

// interrupted runs the program until it says something, presses ctrl-C as a terminal does, and returns the report and what
// was told on standard error.
func interrupted(t *testing.T, says string, args ...string) (report.Document, string) {
	t.Helper()
	command := exec.CommandContext(t.Context(), program, append(args[:1:1], append([]string{"--json=-"}, args[1:]...)...)...)
	command.SysProcAttr = &syscall.SysProcAttr{Setpgid: true} // otherwise it would reach the test as well
	var out bytes.Buffer
	errs := &onText{says: says, do: func() {
		if err := syscall.Kill(-command.Process.Pid, syscall.SIGINT); err != nil {
			t.Error(err)
		}
	}}
	command.Stdout, command.Stderr = &out, errs
	if err := command.Run(); command.ProcessState.ExitCode() != 1 {
		t.Errorf("%v: %s", err, &errs.text)
	}
	document, err := report.Read(&out)
	if err != nil {
		t.Fatalf("%v: %s", err, &errs.text)
	}
	if !document.Interrupted || document.Started.IsZero() || document.Elapsed <= 0 || document.Environment.OS == "" || len(document.Flags) == 0 {
		t.Errorf("%+v", document)
	}
	return document, errs.text.String()
}

// wantStopped demands the last line, which says why, and nothing that only came of it.
func wantStopped(t *testing.T, what, told string) {
	t.Helper()
	if !strings.HasSuffix(told, "\nloadtest: the "+what+" was stopped: interrupt signal received\n") {
		t.Errorf("told: %s", told)
	}
}

// TestAnInterruptedReplayIsAudited interrupts when the second tenth of the requests has been answered.
func TestAnInterruptedReplayIsAudited(t *testing.T) {
	t.Parallel()
	document, told := interrupted(t, "requests answered: ", "replay", "--quick", "--orders", shopFile)
	wantStopped(t, "replay", told)
	if !document.AuditOK || document.Figures[0].Value <= 0 {
		t.Errorf("%v, %+v", document.Wrong, document.Figures)
	}
	if !strings.Contains(string(document.Own), `"unanswered":`) || strings.Contains(string(document.Own), `"unanswered":0,`) {
		t.Errorf("%s", document.Own)
	}
}

// TestComparisonsKeepWhatTheyHave interrupts each as its second case begins.
func TestComparisonsKeepWhatTheyHave(t *testing.T) { // not parallel: the cases need the processor for themselves
	for scenario, c := range map[string]struct{ first, second string }{
		"locks":      {"one caller", "16 clients"},
		"contenders": {"one caller", "three processes"},
	} {
		document, told := interrupted(t, "measuring: "+c.second, scenario, "--tiny", "--case", c.first+";"+c.second)
		wantStopped(t, "comparison", told)
		if !document.AuditOK || len(document.Sections) == 0 || document.Sections[0].Name != c.first || len(document.Sections[0].Table.Rows) == 0 {
			t.Errorf("%s: %v, %+v", scenario, document.Wrong, document.Sections)
		}
		for i, s := range document.Sections {
			if i > 0 && (len(s.Targets) > 0 || len(s.Notes) == 0) {
				t.Errorf("%s: what was cut short is held to targets: %+v", scenario, s)
			}
		}
	}
}
