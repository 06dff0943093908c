//go:build unix

package servertest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"math/rand/v2"
	"net"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"sync"
	"syscall"
	"time"

	"github.com/shirou/gopsutil/v4/disk"
)

const (
	// startTimeout ends a start that hangs, crash recovery included, as busytest.Patience ends a test's wait.
	startTimeout = 5 * time.Minute
	// readyPoll is the pause between checks of a starting server.
	readyPoll = 10 * time.Millisecond
	// readyTimeout bounds one request to a starting server, which is asked again. Another program on its port may never answer.
	readyTimeout = 3 * time.Second
	// replyTimeout bounds one request to a server that works, on a very busy machine.
	replyTimeout = 30 * time.Second
	// portAttempts bounds how many ports are tried.
	portAttempts = 20
	// rebindDelay is the pause between attempts to get a port back.
	rebindDelay = 50 * time.Millisecond
	// logTailBytes is how much of a server's log an error carries.
	logTailBytes = 2048
)

var (
	errPortTaken  = errors.New("the port is taken")
	errNotRunning = errors.New("the server is not running")
	errStopped    = errors.New("the server has been stopped for good")
)

// server has what all servers have: a folder, a port, and a process, which may
// be killed and restarted.
type server struct {
	name        string         // for messages
	deathSignal syscall.Signal // the server gets it when its owner dies
	// command builds the command line; the folder and the port are set.
	command func() *exec.Cmd
	// configure writes files that the program reads at its start; nil: none.
	configure func() error
	// ready checks once whether the server answers and is the given process.
	ready func(ctx context.Context, pid int) error
	// release frees what a killed server could not; nil: nothing.
	release func() error

	account *account // that it runs as; nil: the caller's
	folder  *folder
	port    int

	mutex   sync.Mutex
	process *process
	stopped bool
}

// Addr returns the address as host:port.
func (s *server) Addr() string {
	return net.JoinHostPort("127.0.0.1", strconv.Itoa(s.port))
}

// PID returns the process id of the server; for PostgreSQL, of its postmaster.
func (s *server) PID() int {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.process.pid()
}

// open makes the server's folder under another one, has fill fill it, and starts the server. On an error nothing is left.
func (s *server) open(ctx context.Context, parent string, fill func(ctx context.Context) error) (err error) {
	if s.folder, err = newFolder(parent); err != nil {
		return err
	}
	if err = s.account.own(s.folder.path); err == nil && fill != nil {
		err = fill(ctx)
	}
	if err == nil {
		err = s.startAnywhere(ctx)
	}
	if err != nil {
		return errors.Join(err, s.remove())
	}
	return nil
}

// remove removes all that is left of the server.
func (s *server) remove() error {
	if s.release != nil {
		return errors.Join(s.release(), s.folder.remove())
	}
	return s.folder.remove()
}

// run is a command in the server's folder, as its account.
func (s *server) run(program string, arguments ...string) *exec.Cmd {
	command := exec.Command(program, arguments...)
	command.Dir = s.folder.path
	s.account.prepare(command)
	return command
}

// write writes files that the program reads at its start into its folder.
func (s *server) write(files map[string]string) error {
	var errs []error
	for file, text := range files {
		path := filepath.Join(s.folder.path, file)
		errs = append(errs, os.WriteFile(path, []byte(text), 0o600), s.account.own(path))
	}
	return errors.Join(errs...)
}

// accepts reports whether somebody accepts connections on the server's port.
func (s *server) accepts(ctx context.Context, _ int) error {
	connection, err := (&net.Dialer{}).DialContext(ctx, "tcp", s.Addr())
	if err != nil {
		return err
	}
	return connection.Close()
}

// startAnywhere starts the server on a free port.
func (s *server) startAnywhere(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	var err error
	for range portAttempts {
		if s.port, err = freePort(ctx); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
		if err = s.start(ctx); !errors.Is(err, errPortTaken) {
			return err
		}
	}
	return err
}

// Restart starts the server again on its old port, after Kill.
func (s *server) Restart(ctx context.Context) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopped {
		return fmt.Errorf("restarting %s: %w", s.name, errStopped)
	}
	if s.process.running() {
		return fmt.Errorf("restarting %s: it is running", s.name)
	}
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := s.start(ctx)
		if !errors.Is(err, errPortTaken) {
			return err
		}
		select {
		case <-ctx.Done():
			return err
		case <-time.After(rebindDelay):
		}
	}
}

// start launches the server on its port and waits until it is ready. If it does
// not become ready, it has ended when start returns.
func (s *server) start(ctx context.Context) error {
	log, err := os.OpenFile(s.logPath(), os.O_CREATE|os.O_APPEND|os.O_WRONLY, 0o600)
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}
	defer log.Close()
	position, err := log.Seek(0, io.SeekEnd)
	if err != nil {
		return fmt.Errorf("starting %s: %w", s.name, err)
	}

	if s.configure != nil {
		if err := s.configure(); err != nil {
			return fmt.Errorf("starting %s: %w", s.name, err)
		}
	}
	command := s.command()
	command.Stdout, command.Stderr = log, log
	launched, err := launch(command, s.deathSignal)
	if err != nil {
		return err
	}
	s.process = launched
	err = s.awaitReady(ctx)
	if err == nil {
		return nil
	}
	killErr := s.kill()
	text := s.logSince(position)
	if bytes.Contains(bytes.ToLower(text), []byte("address already in use")) {
		err = errPortTaken
	}
	if len(text) > logTailBytes {
		text = text[len(text)-logTailBytes:]
	}
	return errors.Join(
		fmt.Errorf("starting %s on port %d: %w; the end of its log:\n%s", s.name, s.port, err, text), killErr)
}

// awaitReady waits until the server answers. It gives up when the server ends, because another program on its port might never answer.
func (s *server) awaitReady(ctx context.Context) error {
	ctx, giveUp := context.WithCancelCause(ctx)
	defer giveUp(nil)
	life := s.process.life
	defer context.AfterFunc(life, func() { giveUp(context.Cause(life)) })()
	return await(ctx, "an answer", func(ctx context.Context) error {
		ctx, cancel := context.WithTimeout(ctx, readyTimeout)
		defer cancel()
		return s.ready(ctx, s.process.pid())
	})
}

// await calls is until it returns no error, or the time is up.
func await(ctx context.Context, what string, is func(context.Context) error) error {
	ctx, cancel := context.WithTimeout(ctx, startTimeout)
	defer cancel()
	for {
		err := is(ctx)
		if err == nil {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("waiting for %s: %w; last: %w", what, context.Cause(ctx), err)
		case <-time.After(readyPoll):
		}
	}
}

// Kill ends the server with SIGKILL, as a crash would, and returns when it and
// its children are gone. Its files stay. A server that is not running stays so.
func (s *server) Kill() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return s.kill()
}

func (s *server) kill() error {
	if s.stopped || !s.process.running() {
		return nil
	}
	if err := s.process.kill(); err != nil {
		return fmt.Errorf("killing %s: %w", s.name, err)
	}
	return nil
}

// Stop kills the server, paused or not, and removes its folder: its data may be lost. Later calls do nothing.
func (s *server) Stop() error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopped {
		return nil
	}
	if err := s.kill(); err != nil {
		return err
	}
	s.stopped = true
	return s.remove()
}

// running reports whether the server's process exists, paused or not.
func (s *server) running() bool {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	return !s.stopped && s.process.running()
}

// signal sends a signal to the running server.
func (s *server) signal(sig syscall.Signal) error {
	s.mutex.Lock()
	defer s.mutex.Unlock()
	if s.stopped || !s.process.running() {
		return fmt.Errorf("%v to %s: %w", sig, s.name, errNotRunning)
	}
	return s.process.signal(sig)
}

// logPath returns the path of the server's output.
func (s *server) logPath() string { return filepath.Join(s.folder.path, logName) }

// logSince returns the server's output from a position on. The output is only added to an error, so an unreadable log
// counts as empty.
func (s *server) logSince(position int64) []byte {
	text, err := os.ReadFile(s.logPath())
	if err != nil || int64(len(text)) < position {
		return nil
	}
	return bytes.TrimSpace(text[position:])
}

// freePort returns a port that was free a moment ago. It stays below the range
// from which systems pick the ports of outgoing connections: otherwise, while a
// killed server is away, a client's connection could sit on its port, and even
// connect to itself.
func freePort(ctx context.Context) (int, error) {
	const lowest, highest = 20000, 32000
	var config net.ListenConfig
	var err error
	for range 10 * portAttempts {
		port := lowest + rand.IntN(highest-lowest)
		var listener net.Listener
		listener, err = config.Listen(ctx, "tcp4", net.JoinHostPort("127.0.0.1", strconv.Itoa(port)))
		if err == nil {
			return port, listener.Close()
		}
	}
	return 0, fmt.Errorf("no free port between %d and %d: %w", lowest, highest, err)
}

// errMissing returns the error, in one line, of a missing program.
func errMissing(program string) error {
	return fmt.Errorf("%s is not installed; scripts/install-servers installs it", program)
}

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

const (
	folderPrefix = "inventory-server-"
	lockName     = "owner.lock"
	logName      = "server.log"
	memoryFolder = "/dev/shm" // on Linux: its files are in memory
	// memoryRoom is how many bytes it must have free for a server's files. Containers often have 64 MB in all.
	memoryRoom = 4 << 30
)

// quickFolder is the folder for a server's files that need not survive the machine: in memory, if there is room.
func quickFolder() string {
	if there, err := disk.Usage(memoryFolder); err == nil && there.Free >= memoryRoom {
		return memoryFolder
	}
	return os.TempDir()
}

// folder is the temporary folder of one server. It belongs to the process that
// holds the lock on its lock file.
type folder struct {
	path string
	lock *os.File
}

// newFolder makes a folder under parent, after removing those whose owners have died.
func newFolder(parent string) (*folder, error) {
	sweepFolders(os.TempDir())
	sweepFolders(memoryFolder)
	path, err := os.MkdirTemp(parent, folderPrefix)
	if err != nil {
		return nil, fmt.Errorf("making a folder for a server: %w", err)
	}
	lock, err := lockFolder(path)
	if err != nil {
		return nil, errors.Join(err, os.RemoveAll(path))
	}
	return &folder{path: path, lock: lock}, nil
}

// lockFolder makes the lock file and locks it. The file gets its name only once
// it is locked, so that a sweep never finds it unlocked while its owner lives.
func lockFolder(path string) (*os.File, error) {
	file, err := os.CreateTemp(path, "new-*.lock")
	if err != nil {
		return nil, fmt.Errorf("making a lock file: %w", err)
	}
	err = syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB)
	if err == nil {
		err = os.Rename(file.Name(), filepath.Join(path, lockName))
	}
	if err != nil {
		return nil, errors.Join(fmt.Errorf("locking %s: %w", path, err), file.Close())
	}
	return file, nil
}

// remove deletes the folder, then gives up its lock.
func (f *folder) remove() error {
	return errors.Join(os.RemoveAll(f.path), f.lock.Close())
}

// sweepFolders removes folders under parent whose owners have died. It only
// saves disk space, so it skips a folder that it cannot open or remove.
func sweepFolders(parent string) {
	locks, err := filepath.Glob(filepath.Join(parent, folderPrefix+"*", lockName))
	if err != nil {
		return
	}
	for _, path := range locks {
		file, err := os.Open(path)
		if err != nil {
			continue
		}
		if syscall.Flock(int(file.Fd()), syscall.LOCK_EX|syscall.LOCK_NB) == nil {
			_ = os.RemoveAll(filepath.Dir(path))
		}
		_ = file.Close()
	}
}
