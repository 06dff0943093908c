package main

import (
	"bufio"
	"io"
	"net/http"
	"strings"
	"syscall"
	"testing"
)

// TestWatch opens the classroom, reads the pages at the addresses that it prints, and ends it as a person does.
func TestWatch(t *testing.T) {
	t.Parallel()
	command := program(t, "demo", "--watch", "--watch-listen", "127.0.0.1:0")
	command.Dir = t.TempDir()
	output, err := command.StdoutPipe()
	if err == nil {
		err = command.Start()
	}
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = command.Process.Kill() }) // it has ended, if all went well
	told := bufio.NewReader(output)
	for _, page := range []string{"Classroom", "Console"} {
		line, err := told.ReadString('\n')
		name, url, _ := strings.Cut(strings.TrimSpace(line), " ")
		if err != nil || name != page {
			t.Fatalf("it says %q, %v", line, err)
		}
		response, err := http.Get(strings.TrimSpace(url)) //nolint:noctx,gosec // a test's own server
		if err != nil {
			t.Fatal(err)
		}
		text, err := io.ReadAll(response.Body)
		if response.Body.Close(); err != nil || response.StatusCode != http.StatusOK || !strings.Contains(string(text), "<title>") {
			t.Errorf("%s: %d %s, %v", page, response.StatusCode, text, err)
		}
	}
	if err := command.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	if _, err := io.Copy(io.Discard, told); err != nil {
		t.Fatal(err)
	}
	if err := command.Wait(); err != nil {
		t.Errorf("it ended with %v", err)
	}
}
