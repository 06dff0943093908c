package breaks

import (
	"context"
	_ "embed"
	"errors"
	"fmt"
	"net/url"
	"time"

	"github.com/jackc/pgx/v5/pgxpool"

	"inventory/internal/faultproxy"
	"inventory/internal/locking"
	"inventory/loadtest/internal/kinds"
	"inventory/loadtest/internal/servers"
	"inventory/loadtest/internal/worker"
)

const (
	// poll is how often waiters try that can only poll.
	poll = 20 * time.Millisecond
	// enough connections if their number does not matter.
	enough = 8
	// hearing bounds how long a lock may take to report its loss, when the process runs again.
	hearing = 5 * time.Second
)

// Worker is the kind of the processes that hold locks.
const Worker = "holder"

// job is what a process of its own holds.
type job struct {
	Servers servers.URLs  `json:"servers"`
	Lock    string        `json:"lock"` // the kind's name
	Name    string        `json:"name"` // of its lock, and of the row that it guards
	Lease   time.Duration `json:"lease"`
}

// step is what the process shall do.
type step string

const (
	toLock   step = "lock"
	toRead   step = "read"   // the row
	toWrite  step = "write"  // the row, whether the lock is still held or not
	toListen step = "listen" // for the lock's report of its loss
	toUnlock step = "unlock"
	toCut    step = "cut"  // all connections; new ones work
	toPull   step = "pull" // all connections; new ones do not work
	toPlug   step = "plug" // new ones work again
)

// answer is the result of a step.
type answer struct {
	Error string `json:"error,omitempty"`
	Done  bool   `json:"done,omitempty"` // the write was accepted
	Told  string `json:"told,omitempty"` // how the lock reported its loss; "": it did not
}

// holder is the process that has a lock.
type holder struct {
	servers.Closers
	name      string
	stock     stock
	proxies   []*faultproxy.Proxy // before each Redis
	client    *kinds.Client
	hold      kinds.Hold
	available int // as it was read
}

// Hold does one step after the other, in a process that the lab has started.
func Hold(ctx context.Context, lab *worker.Lab) (err error) {
	var j job
	if err := lab.Read(&j); err != nil {
		return err
	}
	h := &holder{name: j.Name}
	db, err := kinds.OpenPostgres(ctx, kinds.Setting{URLs: j.Servers, Connections: 1})
	if err != nil {
		return err
	}
	defer db.Close()
	h.stock = stock{db}
	defer func() { err = errors.Join(err, h.Close()) }()
	name, err := h.lead(ctx, &j.Servers)
	if err != nil {
		return err
	}
	if h.client, err = kinds.Open(ctx, j.Lock, kinds.Setting{URLs: j.Servers, Lease: j.Lease, Poll: poll, Connections: enough, TLSName: name}); err != nil {
		return err
	}
	h.OnClose(h.client.Close)
	warm, err := h.client.Lock(j.Name + "-warm")(ctx) // sends the scripts, so that later each step does only what it says
	if err == nil {
		err = warm.Unlock(ctx)
	}
	if err != nil {
		return fmt.Errorf("try the lock out: %w", err)
	}
	for err := lab.Say("ready"); err == nil; {
		var s step
		if lab.Read(&s) != nil {
			return nil // the lab has closed
		}
		err = lab.Say(h.do(ctx, s))
	}
	return err
}

// do does a step.
func (h *holder) do(ctx context.Context, s step) (a answer) {
	var err error
	switch s {
	case toLock:
		h.hold, err = h.client.Lock(h.name)(ctx)
	case toRead:
		h.available, err = h.stock.read(ctx, h.name)
	case toWrite:
		a.Done, err = h.stock.write(ctx, h.name, h.available-ofFirst, h.hold)
	case toListen:
		a.Told = told(h.hold)
	case toUnlock:
		err = h.hold.Unlock(ctx)
	case toCut, toPull, toPlug:
		h.cut(s == toPull)
	default:
		err = fmt.Errorf("there is no step %q", s)
	}
	if err != nil {
		a.Error = err.Error()
	}
	return a
}

// told is how a lock reports its loss; "": it is not lost, or does not report it.
func told(hold kinds.Hold) string {
	ours, is := hold.(*locking.Hold)
	if !is {
		return ""
	}
	select {
	case <-ours.Context().Done():
		return context.Cause(ours.Context()).Error()
	case <-time.After(hearing):
		return ""
	}
}

// remote is a holder in a process of its own, as the lab sees it.
type remote struct{ *worker.Process }

// do has the holder do steps that have to succeed, and returns the last answer.
func (r remote) do(steps ...step) (a answer, err error) {
	for _, s := range steps {
		a = answer{}
		if err := r.Ask(s, &a); err != nil {
			return a, fmt.Errorf("have a holder %s: %w", s, err)
		}
		if a.Error != "" {
			return a, fmt.Errorf("%s: %s", s, a.Error)
		}
	}
	return a, nil
}

var (
	//go:embed create_stock.sql
	createStock string
	//go:embed put_stock.sql
	putStock string
	//go:embed read_stock.sql
	readStock string
	//go:embed write_stock.sql
	writeStock string
	//go:embed write_fenced_stock.sql
	writeFencedStock string
)

const (
	units   = 10 // of a row, at first
	ofFirst = 1  // that the first holder sells
	ofNext  = 3  // that the next one sells
)

// stock is the rows that locks guard. They are read and written in two steps.
type stock struct{ db *pgxpool.Pool }

func (s stock) put(ctx context.Context, name string) error {
	if _, err := s.db.Exec(ctx, putStock, name, units); err != nil {
		return fmt.Errorf("put stock there: %w", err)
	}
	return nil
}

func (s stock) read(ctx context.Context, name string) (available int, err error) {
	if err := s.db.QueryRow(ctx, readStock, name).Scan(&available); err != nil {
		return 0, fmt.Errorf("read stock: %w", err)
	}
	return available, nil
}

// write reports whether the row accepted the write of a caller that has, or had, the lock. A lock with a fencing token shows it; a
// MultiLock has the token of its first part.
func (s stock) write(ctx context.Context, name string, available int, hold kinds.Hold) (accepted bool, err error) {
	sql, args := writeStock, []any{name, available}
	if ours, is := hold.(*locking.Hold); is {
		if ours.Token() == 0 {
			ours = ours.Parts()[0]
		}
		sql, args = writeFencedStock, append(args, ours.Token(), ours.Owner())
	}
	done, err := s.db.Exec(ctx, sql, args...)
	if err != nil {
		return false, fmt.Errorf("write stock: %w", err)
	}
	return done.RowsAffected() == 1, nil
}

// lead leads connections to all Redis servers through proxies, and returns the name on the certificate of the first one.
func (h *holder) lead(ctx context.Context, on *servers.URLs) (name string, err error) {
	all := append([]string{on.RedisURL}, on.NodeURLs...)
	for i := range all {
		options, err := servers.RedisOptions(all[i])
		if err != nil {
			return "", err
		}
		proxy, err := faultproxy.Start(ctx, options.Addr)
		if err != nil {
			return "", err
		}
		h.OnClose(proxy.Close)
		h.proxies = append(h.proxies, proxy)
		proxied, err := url.Parse(all[i])
		if err != nil {
			return "", err
		}
		if i == 0 {
			name = proxied.Hostname()
		}
		proxied.Host = proxy.Addr()
		all[i] = proxied.String()
	}
	on.RedisURL, on.NodeURLs = all[0], all[1:]
	return name, nil
}

// cut ends all connections. If the network is then gone, new ones end at once.
func (h *holder) cut(gone bool) {
	for _, proxy := range h.proxies {
		if proxy.Cut(); !gone {
			proxy.Mend()
		}
	}
}
