//go:build unix

package servertest

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"syscall"
)

// standbyName is a primary's name of its standby.
const standbyName = "standby"

// StartStandby starts a server that follows a primary, and returns when it streams. Stop it separately.
func StartStandby(ctx context.Context, primary *Postgres, options ...PostgresOption) (*Postgres, error) {
	port := strconv.Itoa(primary.port)
	p, err := newPostgres(append(options, Setting("primary_conninfo",
		"host=127.0.0.1 port="+port+" user="+postgresUser+" application_name="+standbyName)))
	if err != nil {
		return nil, err
	}
	err = p.open(ctx, p.parent, func(ctx context.Context) error {
		err := p.fill(ctx, "pg_basebackup", "--pgdata", p.dataFolder(), "--host", "127.0.0.1", "--port", port,
			"--username", postgresUser, "--checkpoint", "fast", "--no-sync")
		if err != nil {
			return err
		}
		signal := filepath.Join(p.dataFolder(), "standby.signal")
		return errors.Join(os.WriteFile(signal, nil, 0o600), p.account.own(signal)) // PostgreSQL removes it on a promotion
	})
	if err != nil {
		return nil, err
	}
	err = await(ctx, "a standby to stream", func(ctx context.Context) error {
		return primary.execute(ctx, "DO $$ BEGIN ASSERT EXISTS (SELECT FROM pg_stat_replication WHERE state = 'streaming' AND application_name = '"+
			standbyName+"'); END $$")
	})
	if err != nil {
		return nil, errors.Join(err, p.Stop())
	}
	return p, nil
}

// Await sets whether commits wait until the standby has them.
func (p *Postgres) Await(ctx context.Context, standby bool) error {
	name := map[bool]string{true: standbyName}[standby]
	if err := p.execute(ctx, "ALTER SYSTEM SET synchronous_standby_names = '"+name+"'"); err != nil {
		return fmt.Errorf("naming the standby: %w", err)
	}
	if err := p.execute(ctx, "SELECT pg_reload_conf()"); err != nil {
		return fmt.Errorf("naming the standby: %w", err)
	}
	want := map[bool]string{true: "sync", false: "async"}[standby]
	return await(ctx, "a standby to be "+want, func(ctx context.Context) error {
		return p.execute(ctx, "DO $$ BEGIN ASSERT EXISTS (SELECT FROM pg_stat_replication WHERE sync_state = '"+want+"'); END $$")
	})
}

// Promote makes a standby the primary, and returns when it takes writes.
func (p *Postgres) Promote(ctx context.Context) error {
	if err := p.execute(ctx, "DO $$ BEGIN ASSERT pg_promote(); END $$"); err != nil {
		return fmt.Errorf("promoting a standby: %w", err)
	}
	return nil
}

// Shutdown ends the server in order: its standby then has all its data. Its files stay.
func (p *Postgres) Shutdown(ctx context.Context) error {
	if err := p.signal(syscall.SIGINT); err != nil {
		return err
	}
	select {
	case <-p.process.done:
		return nil
	case <-ctx.Done():
		return fmt.Errorf("shutting PostgreSQL down: %w", context.Cause(ctx))
	}
}

// Pause freezes all processes of the server with SIGSTOP: until Kill, connections stay open, the kernel accepts new ones,
// and the server answers nothing.
func (p *Postgres) Pause() error {
	if !p.running() {
		return fmt.Errorf("pausing %s: %w", p.name, errNotRunning)
	}
	children, err := p.process.freeze()
	if err != nil {
		return err
	}
	for _, child := range children {
		if err := child.Suspend(); err != nil && alive(child) {
			return fmt.Errorf("pausing process %d, a child of %d: %w", child.Pid, p.process.pid(), err)
		}
	}
	return nil
}
