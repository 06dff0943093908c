package app

import (
	"errors"
	"strings"
	"testing"
)

// TestPostgresURLs: a folder of sockets is a parameter, and a wrong password is not quoted.
func TestPostgresURLs(t *testing.T) {
	t.Parallel()
	for url, want := range map[string]string{
		"postgres:///db?host=/dir":                     "PostgreSQL /db",
		"postgres://u@localhost:5433/db?host=%2Fdir":   "PostgreSQL localhost:5433/db",
		"postgres://u:p%2F@localhost:5433/db?user=%2F": "PostgreSQL localhost:5433/db",
		"postgres://u:p@[::1]:1,b:2/db?password=p@":    "PostgreSQL [::1]:1,b:2/db",
	} {
		d, err := parseDatabase(url)
		if err != nil || d.String() != want {
			t.Errorf("%s: %s, %v; want %s", url, d, err, want)
		}
	}
	for _, url := range []string{"postgres://u:canary/x@a/db", "postgres://u:%zzcanary@a/db", "postgres://u:canary#x@a/db"} {
		if _, err := parseDatabase(url); !errors.Is(err, errReserved) || strings.Contains(err.Error(), "canary") {
			t.Errorf("%s: %v", url, err)
		}
	}
}

// TestDirectURLs are of PostgreSQL.
func TestDirectURLs(t *testing.T) {
	t.Parallel()
	for _, c := range []struct{ database, direct string }{
		{"sqlite:a.db", "postgres://a/b"}, {"postgres://a/b", "sqlite:a.db"}, {"citus://a/b", "postgres://a/b"}, {"postgres://a/b", "http://a/b"},
	} {
		if _, err := parseDatabases(c.database, c.direct); !errors.As(err, new(ConfigError)) {
			t.Errorf("%s and %s: %v", c.database, c.direct, err)
		}
	}
	if d, err := parseDatabases("postgres://a/b", "postgres://c/d"); err != nil || d.directURL != "postgres://c/d" {
		t.Errorf("%+v, %v", d, err)
	}
}
