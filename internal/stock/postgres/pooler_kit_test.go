package postgres_test

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"net/url"
	"slices"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/jackc/pgx/v5/pgconn"
	"github.com/jackc/pgx/v5/pgproto3"
)

// shares says when a pooler gives the session of a connection to others.
type shares int

const (
	neverShares shares = iota
	betweenTransactions
	betweenStatements
)

// pooler stands before the private server, as PgBouncer does: it answers for the server, and refuses a connection that asks for
// settings.
type pooler struct {
	t      *testing.T
	shares shares
	server string // its URL

	lateBy atomic.Int64 // notifications of sessions that are not shared, in nanoseconds

	mu   sync.Mutex
	idle []*pgconn.HijackedConn // the last one is used next
}

// startPooler starts a pooler before a database, and returns the URL that leads through it.
func startPooler(t *testing.T, shares shares, database string) (through string, p *pooler) {
	t.Helper()
	listener, err := (&net.ListenConfig{}).Listen(t.Context(), "tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	p = &pooler{t: t, shares: shares, server: database}
	var serving sync.WaitGroup
	serving.Go(func() {
		for {
			client, err := listener.Accept()
			if err != nil {
				return
			}
			serving.Go(func() {
				defer client.Close()
				stop := context.AfterFunc(ctx, func() { client.Close() })
				defer stop()
				p.serve(ctx, client)
			})
		}
	})
	t.Cleanup(func() {
		cancel()
		listener.Close()
		serving.Wait()
		for _, server := range p.idle {
			server.Conn.Close()
		}
	})
	parsed, err := url.Parse(database)
	if err != nil {
		t.Fatal(err)
	}
	parsed.Host = listener.Addr().String()
	return parsed.String(), p
}

func (p *pooler) serve(ctx context.Context, client net.Conn) {
	to := pgproto3.NewBackend(client, client)
	if !p.welcome(ctx, to) {
		return
	}
	if p.shares == neverShares {
		p.pass(ctx, client)
		return
	}
	var server *pgconn.HijackedConn
	defer func() {
		if server != nil {
			server.Conn.Close()
		}
	}()
	for {
		message, err := to.Receive()
		if _, bye := message.(*pgproto3.Terminate); err != nil || bye {
			return
		}
		if server == nil {
			if server, err = p.takeServer(ctx); err != nil {
				return
			}
		}
		server.Frontend.Send(message)
		switch message.(type) {
		case *pgproto3.Sync, *pgproto3.Query:
		default:
			continue
		}
		state, err := p.answer(server, to)
		if err != nil {
			return
		}
		if state == 'T' && p.shares == betweenStatements {
			to.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "transaction blocks not allowed in statement pooling mode"})
			_ = to.Flush()
			return
		}
		if state == 'I' {
			p.giveBack(server)
			server = nil
		}
		if err := to.Flush(); err != nil {
			return
		}
	}
}

// welcome lets a client in.
func (p *pooler) welcome(ctx context.Context, to *pgproto3.Backend) bool {
	message, err := to.ReceiveStartupMessage()
	start, is := message.(*pgproto3.StartupMessage)
	if err != nil || !is {
		return false
	}
	for name := range start.Parameters {
		if !slices.Contains([]string{"user", "database", "application_name"}, name) {
			to.Send(&pgproto3.ErrorResponse{Severity: "FATAL", Code: "08P01", Message: "unsupported startup parameter: " + name})
			_ = to.Flush()
			return false
		}
	}
	server, err := p.takeServer(ctx)
	if err != nil {
		return false
	}
	defer p.giveBack(server)
	to.Send(&pgproto3.AuthenticationOk{})
	for name, value := range server.ParameterStatuses {
		to.Send(&pgproto3.ParameterStatus{Name: name, Value: value})
	}
	to.Send(&pgproto3.BackendKeyData{ProcessID: rand.Uint32() | 1<<31, SecretKey: []byte{1, 2, 3, 4}}) // PgBouncer's is no process either
	to.Send(&pgproto3.ReadyForQuery{TxStatus: 'I'})
	return to.Flush() == nil
}

// pass passes everything on between a client and a session of its own.
func (p *pooler) pass(ctx context.Context, client net.Conn) {
	server, err := p.connect(ctx)
	if err != nil {
		return
	}
	var passing sync.WaitGroup
	passing.Go(func() {
		defer client.Close()
		to := pgproto3.NewBackend(client, client)
		for {
			message, err := server.Frontend.Receive()
			if err != nil {
				return
			}
			if _, is := message.(*pgproto3.NotificationResponse); is {
				select {
				case <-time.After(time.Duration(p.lateBy.Load())):
				case <-ctx.Done():
				}
			}
			if to.Send(message); to.Flush() != nil {
				return
			}
		}
	})
	_, _ = io.Copy(server.Conn, client)
	server.Conn.Close()
	passing.Wait()
}

// answer passes an answer on, and returns the state of the transaction after it.
func (p *pooler) answer(server *pgconn.HijackedConn, to *pgproto3.Backend) (state byte, err error) {
	if err := server.Frontend.Flush(); err != nil {
		return 0, err
	}
	for {
		message, err := server.Frontend.Receive()
		if err != nil {
			return 0, err
		}
		to.Send(message)
		if ready, is := message.(*pgproto3.ReadyForQuery); is {
			return ready.TxStatus, nil
		}
	}
}

func (p *pooler) takeServer(ctx context.Context) (*pgconn.HijackedConn, error) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if last := len(p.idle) - 1; last >= 0 {
		server := p.idle[last]
		p.idle = p.idle[:last]
		return server, nil
	}
	return p.connect(ctx)
}

func (p *pooler) giveBack(server *pgconn.HijackedConn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.idle = append(p.idle, server)
}

func (p *pooler) connect(ctx context.Context) (*pgconn.HijackedConn, error) {
	conn, err := pgconn.Connect(ctx, p.server)
	if err != nil {
		return nil, err
	}
	return conn.Hijack()
}

// eachIdle reads a value from each session that nobody has.
func (p *pooler) eachIdle(query string) (values []string) {
	p.t.Helper()
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, idle := range p.idle {
		idle.Frontend.Send(&pgproto3.Query{String: query})
		if err := idle.Frontend.Flush(); err != nil {
			p.t.Fatal(err)
		}
		for ready := false; !ready; {
			message, err := idle.Frontend.Receive()
			if err != nil {
				p.t.Fatal(err)
			}
			switch m := message.(type) {
			case *pgproto3.DataRow:
				values = append(values, string(m.Values[0]))
			case *pgproto3.ErrorResponse:
				p.t.Fatal(m.Message)
			case *pgproto3.ReadyForQuery:
				ready = true
			}
		}
	}
	if values == nil {
		p.t.Fatal(errors.New("no session is idle"))
	}
	return values
}
