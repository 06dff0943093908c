//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Program is a private server of any program that runs in the foreground, such as a pooler or a proxy.
type Program struct{ server }

// Setup is what a program reads, and its command line. It is called again for each port that is tried.
type Setup func(folder string, port int) (files map[string]string, arguments []string)

// StartProgram starts a program on a free port. It returns when the program accepts connections: unlike for most other
// servers, nothing proves that it is this program that does.
func StartProgram(ctx context.Context, name string, setup Setup) (*Program, error) {
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	program, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		program, err = exec.LookPath(filepath.Join("/usr/sbin", name)) // not on everybody's PATH
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not installed; scripts/install-servers environments installs it", name)
	}
	p := &Program{server{name: name, deathSignal: syscall.SIGTERM, account: account}}
	var arguments []string
	p.configure = func() error {
		var files map[string]string
		files, arguments = setup(p.folder.path, p.port)
		return p.write(files)
	}
	p.command = func() *exec.Cmd { return p.run(program, arguments...) }
	p.ready = p.accepts
	return started(p, p.open(ctx, os.TempDir(), nil))
}

// started is a server, or why it has not started.
func started[S any](server S, err error) (S, error) {
	if err != nil {
		var none S
		return none, err
	}
	return server, nil
}
