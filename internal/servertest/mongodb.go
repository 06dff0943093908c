//go:build unix

package servertest

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"os/exec"
	"slices"
	"strconv"
	"strings"
	"syscall"

	"go.mongodb.org/mongo-driver/v2/bson"
)

// ErrNoMongoDB means that no server of MongoDB's protocol can be started here. It is optional, so scripts/install-servers
// does not install it.
var ErrNoMongoDB = errors.New("neither mongod nor a ferretdb with SQLite is installed")

// MongoDB is a private server of MongoDB's protocol: mongod, or FerretDB, which keeps documents in SQLite.
type MongoDB struct{ server }

// StartMongoDB starts a server of MongoDB's protocol. If none is installed, the error is ErrNoMongoDB.
func StartMongoDB(ctx context.Context) (*MongoDB, error) {
	program, arguments, err := findMongoDB(ctx)
	if err != nil {
		return nil, err
	}
	folder, err := newFolder(os.TempDir())
	if err != nil {
		return nil, err
	}
	m := &MongoDB{server{name: "MongoDB", deathSignal: syscall.SIGKILL, folder: folder}}
	m.command = func() *exec.Cmd {
		command := exec.Command(program, arguments(&m.server)...)
		command.Dir = folder.path
		return command
	}
	m.ready = m.answers
	if err := m.startAnywhere(ctx); err != nil {
		return nil, errors.Join(err, folder.remove())
	}
	return m, nil
}

// findMongoDB returns a program, and its arguments.
func findMongoDB(ctx context.Context) (program string, arguments func(s *server) []string, err error) {
	if program, err = exec.LookPath("mongod"); err == nil {
		return program, forMongod, nil
	}
	if program, err = exec.LookPath("ferretdb"); err != nil {
		return "", nil, ErrNoMongoDB
	}
	// From version 2 on, FerretDB needs a PostgreSQL with its own extensions.
	help, err := exec.CommandContext(ctx, program, "--help").Output()
	if err != nil || !strings.Contains(string(help), "--sqlite-url") {
		return "", nil, ErrNoMongoDB
	}
	return program, forFerretDB, nil
}

func forMongod(s *server) []string {
	return []string{
		"--dbpath", s.folder.path, "--bind_ip", "127.0.0.1", "--port", strconv.Itoa(s.port), "--nounixsocket",
		"--wiredTigerCacheSizeGB", "0.25",
	}
}

func forFerretDB(s *server) []string {
	return []string{
		"--handler=sqlite", "--sqlite-url=file:" + s.folder.path + "/", "--listen-addr=" + s.address(), "--log-level=warn",
		"--state-dir=-", "--debug-addr=-", "--telemetry=disable", // nothing but the folder and the port
	}
}

// URL returns the address in the form that MongoDB's driver parses.
func (m *MongoDB) URL() string { return "mongodb://" + m.address() + "/" }

// Stop ends the server and removes its folder. Later calls do nothing.
func (m *MongoDB) Stop() error { return m.discard() }

// answers reads the server's process id. It writes the protocol by hand, as for Redis.
func (m *MongoDB) answers(ctx context.Context, pid int) error {
	var dialer net.Dialer
	connection, err := dialer.DialContext(ctx, "tcp", m.address())
	if err != nil {
		return err
	}
	defer connection.Close()
	defer context.AfterFunc(ctx, func() { _ = connection.Close() })() // ends the read below
	question, err := bson.Marshal(bson.D{{Key: "serverStatus", Value: 1}, {Key: "$db", Value: "admin"}})
	if err != nil {
		return err
	}
	if _, err := connection.Write(mongoMessage(question)); err != nil {
		return err
	}
	answer, err := readMongoMessage(connection)
	if err != nil {
		return err
	}
	var status struct {
		PID int `bson:"pid"`
	}
	if err := bson.Unmarshal(answer, &status); err != nil {
		return err
	}
	if status.PID != pid {
		return fmt.Errorf("no MongoDB with process id %d answers, but one with %d", pid, status.PID)
	}
	return nil
}

const (
	// mongoHeader is the size of a message's header: the message's size, its number, the number that it answers, its kind.
	mongoHeader = 4 * 4
	// mongoPrelude is the size of what an OP_MSG has before its document: flags, and the kind of the section.
	mongoPrelude = 4 + 1
	// mongoOpMsg is the kind of the messages of a command and of its answer.
	mongoOpMsg = 2013
	// mongoLargest bounds an answer, in case another program has the port.
	mongoLargest = 16 << 20
)

// mongoMessage returns the message of a command.
func mongoMessage(document []byte) []byte {
	before := make([]byte, mongoHeader+mongoPrelude)
	binary.LittleEndian.PutUint32(before, uint32(len(before)+len(document)))
	binary.LittleEndian.PutUint32(before[mongoHeader-4:], mongoOpMsg)
	return slices.Concat(before, document)
}

// readMongoMessage returns the document of an answer.
func readMongoMessage(from io.Reader) (document []byte, err error) {
	before := make([]byte, mongoHeader+mongoPrelude)
	if _, err := io.ReadFull(from, before); err != nil {
		return nil, err
	}
	size := int(binary.LittleEndian.Uint32(before))
	if kind := binary.LittleEndian.Uint32(before[mongoHeader-4:]); kind != mongoOpMsg || size < len(before) || size > mongoLargest {
		return nil, fmt.Errorf("no MongoDB answers, but % x", before)
	}
	document = make([]byte, size-len(before))
	_, err = io.ReadFull(from, document)
	return document, err
}
