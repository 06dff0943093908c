//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
)

// Program is a private server of any program that runs in the foreground: a pooler or a proxy.
type Program struct{ server }

// Setup is what a program reads, and its command line. It is called again for each port that is tried.
type Setup func(folder string, port int) (files map[string]string, arguments []string)

// StartProgram starts a program on a free port. It returns when the program accepts connections: unlike for the other
// servers, nothing proves that it is this program that does.
func StartProgram(ctx context.Context, name string, setup Setup) (*Program, error) {
	program, err := exec.LookPath(name)
	if errors.Is(err, exec.ErrNotFound) {
		program, err = exec.LookPath(filepath.Join("/usr/sbin", name)) // not on everybody's PATH
	}
	if err != nil {
		return nil, fmt.Errorf("%s is not installed; scripts/install-servers environments installs it", name)
	}
	account, err := postgresAccount()
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(os.TempDir())
	if err != nil {
		return nil, err
	}
	p := &Program{server{name: name, deathSignal: syscall.SIGTERM, folder: folder}}
	var arguments []string
	p.configure = func() error {
		var files map[string]string
		files, arguments = setup(folder.path, p.port)
		errs := []error{account.own(folder.path)}
		for file, text := range files {
			path := filepath.Join(folder.path, file)
			errs = append(errs, os.WriteFile(path, []byte(text), 0o600), account.own(path))
		}
		return errors.Join(errs...)
	}
	p.command = func() *exec.Cmd { return account.in(folder, exec.Command(program, arguments...)) }
	p.ready = p.accepts
	if err := p.startAnywhere(ctx); err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return p, nil
}

// Addr returns the address as host:port.
func (p *Program) Addr() string { return p.address() }

// Stop ends the program and removes its folder. Later calls do nothing.
func (p *Program) Stop() error { return p.discard() }

func (p *Program) accepts(ctx context.Context, _ int) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", p.address())
	if err != nil {
		return err
	}
	return connection.Close()
}
