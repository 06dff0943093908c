package main

import (
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"golang.org/x/sys/unix"

	"inventory/internal/cli"
)

// TestHelpIsAsWideAsTheTerminal: where there is room, a flag's help needs fewer lines.
func TestHelpIsAsWideAsTheTerminal(t *testing.T) { // not parallel: it sets a variable
	t.Setenv("COLUMNS", "")
	lines := func(width uint16) int {
		t.Helper()
		screen, err := os.OpenFile("/dev/ptmx", os.O_RDWR, 0)
		if err != nil {
			t.Fatal(err)
		}
		defer screen.Close()
		fd := int(screen.Fd())
		number, err := unix.IoctlGetInt(fd, unix.TIOCGPTN)
		if err == nil {
			err = unix.IoctlSetPointerInt(fd, unix.TIOCSPTLCK, 0)
		}
		if err == nil {
			err = unix.IoctlSetWinsize(fd, unix.TIOCSWINSZ, &unix.Winsize{Row: 25, Col: width})
		}
		if err != nil {
			t.Fatal(err)
		}
		terminal, err := os.OpenFile(fmt.Sprintf("/dev/pts/%d", number), os.O_RDWR|unix.O_NOCTTY, 0)
		if err != nil {
			t.Fatal(err)
		}
		shown := make(chan string, 1)
		go func() {
			text, _ := io.ReadAll(screen) // a terminal that is closed ends it with an error
			shown <- string(text)
		}()
		code := run(t.Context(), []string{"serve", "--help"}, cli.Streams{Out: terminal, Err: io.Discard})
		if err := terminal.Close(); code != 0 || err != nil {
			t.Errorf("exit status %d, %v", code, err)
		}
		return strings.Count(<-shown, "\n")
	}
	if narrow, wide := lines(80), lines(160); narrow < 100 || wide > narrow*3/4 {
		t.Errorf("%d lines of 80 columns, and %d of 160", narrow, wide)
	}
}
