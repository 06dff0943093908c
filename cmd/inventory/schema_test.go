package main

import (
	"context"
	"crypto/rand"
	"database/sql"
	"encoding/json"
	"errors"
	"net/url"
	"os"
	"regexp"
	"strings"
	"syscall"
	"testing"

	"github.com/redis/go-redis/v9"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestMigrateStatusBesideAService reads the schema of a database that a service uses, on both stores.
func TestMigrateStatusBesideAService(t *testing.T) {
	t.Parallel()
	for _, url := range []string{sqliteFile(t), database(t)} {
		p := serve(t, "--database-url", url, "--lock", "none")
		if r := invoke(t, "migrate", "status", "--database-url", url); r.code != 0 || strings.Contains(r.out, "pending") || !strings.Contains(r.out, "applied") {
			t.Errorf("exit status %d, %s%s", r.code, r.out, r.err)
		}
		p.end(syscall.SIGTERM)
	}
}

// TestSchemaThatIsNotThisPrograms: an old schema, one with an unfinished migration, and one of a newer program.
func TestSchemaThatIsNotThisPrograms(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for _, c := range []struct {
		name, change  string
		status, audit string
	}{
		{"old", "", "pending", "run inventory migrate up"},
		{"newer", "UPDATE schema_migrations SET version = 9000", "9000  applied by a newer program", ""},
		{"begun by a newer one", "UPDATE schema_migrations SET version = 9000, dirty = true", "9000  applied by a newer program", ""},
	} {
		for _, url := range []string{sqliteFile(t), database(t)} {
			t.Run(c.name+" "+url[:strings.Index(url, ":")], func(t *testing.T) {
				t.Parallel()
				if r := invoke(t, "migrate", "up", "--database-url", url); r.code != 0 {
					t.Fatal(r.err)
				}
				if c.change != "" {
					change(t, url, c.change)
				} else if r := invoke(t, "migrate", "down", "--yes", "--database-url", url); r.code != 0 {
					t.Fatal(r.err)
				}
				if r := invoke(t, "migrate", "status", "--database-url", url); r.code != 0 || !strings.Contains(r.out, c.status) {
					t.Errorf("migrate status: exit status %d, %s%s", r.code, r.out, r.err)
				}
				if r := invoke(t, "audit", "--database-url", url); c.audit == "" && r.code != 0 {
					t.Errorf("audit: exit status %d, %s", r.code, r.err)
				} else if c.audit != "" {
					oneLine(t, r, c.audit)
				}
				p := serve(t, "--database-url", url, "--lock", "none")
				p.end(syscall.SIGTERM)
			})
		}
	}
}

// change runs a statement on a database.
func change(t *testing.T, url, statement string) {
	t.Helper()
	file, isFile := strings.CutPrefix(url, "sqlite:")
	if !isFile {
		execute(t, url, statement)
		return
	}
	db, err := sql.Open("sqlite", file)
	if err != nil {
		t.Fatal(err)
	}
	_, err = db.ExecContext(t.Context(), statement)
	if err := errors.Join(err, db.Close()); err != nil {
		t.Fatal(err)
	}
}

// TestOutboxStatus: off, on, and with rows, on both stores.
func TestOutboxStatus(t *testing.T) {
	t.Parallel()
	for _, url := range []string{sqliteFile(t), database(t)} {
		name, parameters, _ := strings.Cut(url+"?", "?")
		missing := strings.TrimRight(name+"-none?"+parameters, "?")
		oneLine(t, invoke(t, "outbox", "status", "--database-url", missing), "-none")
		want := func(on bool, rows int64) {
			t.Helper()
			var status stock.OutboxStatus
			r := invoke(t, "outbox", "status", "--json", "--database-url", url)
			if err := json.Unmarshal([]byte(r.out), &status); err != nil || status.On != on || status.Rows != rows || status.Oldest.IsZero() != (rows == 0) {
				t.Errorf("%v: %+v, want %v and %d rows; %s", err, status, on, rows, r.err)
			}
		}
		p := serve(t, "--database-url", url, "--lock", "none")
		sell := seller(t, p)
		want(false, 0)
		for _, args := range []string{"on", "off", "on"} {
			if r := invoke(t, "outbox", args, "--database-url", url); r.code != 0 {
				t.Fatal(r.err)
			}
			want(args == "on", 0)
		}
		sell("one", 2)
		want(true, 1)
		if r := invoke(t, "outbox", "status", "--database-url", url); !strings.HasPrefix(r.out, "the outbox is on: 1 row, from 20") {
			t.Error(r.out, r.err)
		}
	}
}

// TestPostgresThatForgets: the log names the setting with which an accepted order may be lost.
func TestPostgresThatForgets(t *testing.T) {
	t.Parallel()
	p := serve(t, "--database-url", database(t)+"&synchronous_commit=off", "--lock", "none")
	p.end(syscall.SIGTERM)
	if !strings.Contains(p.log.String(), "synchronous_commit") {
		t.Errorf("the log does not say so: %s", p.log.String())
	}
}

// TestLeastRights: the statements of docs/OPERATIONS.md give each role the rights that it needs, and no more.
func TestLeastRights(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	owner := database(t)
	if r := invoke(t, "migrate", "up", "--database-url", owner); r.code != 0 {
		t.Fatal(r.err)
	}
	as := roles(t, owner)
	service, auditor := as("inventory_service"), as("inventory_auditor")
	p := serve(t, "--database-url", service, "--redis-url", redisUser(t))
	c := newCrowd(t, 100, p)
	c.buy(120, func(int64) {})
	if len(c.errors) > 0 || c.accepted.Load() != 100 {
		t.Errorf("%d were accepted, errors %v", c.accepted.Load(), c.errors)
	}
	audited(t, auditor)
	if r := invoke(t, "migrate", "status", "--database-url", auditor); r.code != 0 || strings.Contains(r.out, "pending") {
		t.Errorf("migrate status: %s%s", r.out, r.err)
	}
	if r := invoke(t, "outbox", "read", "--database-url", auditor); r.code != 0 {
		t.Errorf("outbox read: %s", r.err)
	}
	if code := p.end(syscall.SIGTERM); code != 0 || strings.Contains(p.log.String(), "permission denied") {
		t.Errorf("exit status %d: %s", code, p.log.String())
	}
	if r := spawn(t, "migrate", "down", "--yes", "--database-url", service); r.code == 0 { // golang-migrate leaves a goroutine
		t.Error("the service's role may change the schema")
	}
}

// handbook returns the code block of a language in the chapter of docs/OPERATIONS.md about rights.
func handbook(t *testing.T, language string) string {
	t.Helper()
	text, err := os.ReadFile("../../docs/OPERATIONS.md")
	if err != nil {
		t.Fatal(err)
	}
	_, chapter, _ := strings.Cut(string(text), "### Least rights")
	_, block, found := strings.Cut(chapter, "```"+language+"\n")
	block, _, _ = strings.Cut(block, "```")
	if !found {
		t.Fatalf("the handbook has no %s for least rights", language)
	}
	return block
}

// roles runs the handbook's statements as the owner of a database. as returns its URL for one of their roles. Roles belong
// to the whole server, so their names get a suffix.
func roles(t *testing.T, owner string) (as func(role string) string) {
	t.Helper()
	suffix := "_" + strings.ToLower(rand.Text()[:8])
	statements := regexp.MustCompile(`inventory_(service|auditor)`).ReplaceAllString(handbook(t, "sql"), "${0}"+suffix)
	execute(t, owner, statements)
	return func(role string) string {
		parsed, err := url.Parse(owner)
		if err != nil {
			t.Fatal(err)
		}
		parsed.User = url.User(role + suffix)
		return parsed.String()
	}
}

// redisUser makes the handbook's user of Redis, and returns the URL for it.
func redisUser(t *testing.T) string {
	t.Helper()
	client := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
	defer client.Close()
	var arguments []any
	for _, word := range strings.Fields(handbook(t, "redis")) {
		arguments = append(arguments, word)
	}
	if err := client.Do(t.Context(), arguments...).Err(); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		client := redis.NewClient(&redis.Options{Addr: redisServer.Addr()})
		defer client.Close()
		if denied, err := client.Do(context.WithoutCancel(t.Context()), "ACL", "LOG").Slice(); err != nil || len(denied) > 0 {
			t.Errorf("Redis has denied %v, %v", denied, err)
		}
	})
	return "redis://inventory:PASSWORD@" + redisServer.Addr() + "/0"
}

// TestMigrateDownAsks: without a terminal nobody can be asked, so it names the step and what it loses, and does nothing.
func TestMigrateDownAsks(t *testing.T) {
	t.Parallel()
	url := sqliteFile(t)
	if r := invoke(t, "migrate", "up", "--database-url", url); r.code != 0 {
		t.Fatal(r.err)
	}
	r := spawn(t, "migrate", "down", "--database-url", url)
	if r.code != 2 || !strings.Contains(r.err, "forgotten will be undone. It loses which buyers are forgotten") || !strings.Contains(r.err, "--yes") {
		t.Errorf("exit status %d: %s", r.code, r.err)
	}
	if r := invoke(t, "migrate", "status", "--database-url", url); strings.Contains(r.out, "pending") {
		t.Errorf("it was undone: %s", r.out)
	}
}
