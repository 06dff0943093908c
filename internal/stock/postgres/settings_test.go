package postgres_test

import (
	"context"
	"crypto/rand"
	"errors"
	"net/url"
	"strings"
	"testing"
	"time"

	"github.com/jackc/pgx/v5"

	"inventory/internal/busytest"
	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
)

// TestSettingsOfADatabaseDoNotMatter: sessions have their own, in each way to send statements.
func TestSettingsOfADatabaseDoNotMatter(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for name, settings := range map[string][]string{
		"repeatable read": {`default_transaction_isolation = 'repeatable read'`},
		"serializable":    {`default_transaction_isolation = 'serializable'`},
		"texts": {
			`client_encoding = 'LATIN1'`, `standard_conforming_strings = off`, `DateStyle = 'German, DMY'`, `IntervalStyle = 'sql_standard'`,
			`extra_float_digits = 0`, `bytea_output = 'escape'`, `TimeZone = 'Asia/Kathmandu'`, `array_nulls = off`,
		},
		"plans": { // jit_above_cost = 0 would also compile what a session is set with, for as long as it may take to connect
			`enable_indexscan = off`, `enable_nestloop = off`, `plan_cache_mode = 'force_custom_plan'`, `jit_above_cost = 1000`,
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			busytest.Virtual(t, func(t *testing.T) {
				url := database(t)
				for _, setting := range settings {
					set(t, url, setting)
				}
				store := openStore(t, url+"&default_query_exec_mode="+modeFor(name))
				sell(t, store)
				hears(t, store, store, nil)
			})
		})
	}
}

// modeFor makes texts travel as texts.
func modeFor(name string) string {
	if name == "texts" {
		return "exec"
	}
	return "cache_statement"
}

// TestEncodingsOfADatabase: one that cannot hold each text is refused before anything is written.
func TestEncodingsOfADatabase(t *testing.T) {
	busytest.Slow(t)
	t.Parallel()
	for encoding, want := range map[string]string{"LATIN1": "ENCODING 'UTF8'", "EUC_JP": "ENCODING 'UTF8'", "SQL_ASCII": ""} {
		t.Run(encoding, func(t *testing.T) {
			t.Parallel()
			url := encoded(t, encoding)
			store, err := postgres.OpenPatiently(t.Context(), url, 0)
			if want != "" {
				if err == nil {
					err = store.Close()
				}
				if err == nil || !strings.Contains(err.Error(), want) || strings.Contains(err.Error(), "\n") {
					t.Errorf("got %v, want one line with %s", err, want)
				}
				return
			}
			if err != nil {
				t.Fatal(err)
			}
			defer func() {
				if err := store.Close(); err != nil {
					t.Error(err)
				}
			}()
			migrate(t, url)
			sell(t, store)
			const name = "日本 é 😀"
			if _, err := store.CreateSKU(t.Context(), stock.NewSKU{SKU: "named", Name: name, Segments: 1}, time.Now()); err != nil {
				t.Fatal(err)
			}
			all, err := store.Statuses(t.Context(), "", 10)
			if err != nil || len(all) != 3 || all[2].Name != name {
				t.Errorf("got %+v, %v", all, err)
			}
		})
	}
}

// encoded returns the URL of a new, empty database with an encoding.
func encoded(t *testing.T, encoding string) string {
	t.Helper()
	parsed, err := url.Parse(server.URL())
	if err != nil {
		t.Fatal(err)
	}
	name := strings.ToLower("encoded_" + rand.Text())
	do := func(ctx context.Context, statement string) error {
		conn, err := pgx.Connect(ctx, server.URL())
		if err != nil {
			return err
		}
		_, err = conn.Exec(ctx, statement)
		return errors.Join(err, conn.Close(ctx))
	}
	if err := do(t.Context(), "CREATE DATABASE "+name+" TEMPLATE template0 ENCODING '"+encoding+"'"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := do(context.WithoutCancel(t.Context()), "DROP DATABASE "+name+" WITH (FORCE)"); err != nil {
			t.Error(err)
		}
	})
	parsed.Path = "/" + name
	return parsed.String()
}
