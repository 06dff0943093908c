package servers

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"net/url"
	"strings"

	"github.com/jackc/pgx/v5"
)

// CreateDatabase makes an empty database of a fresh name on a PostgreSQL server. Drop drops it, whoever uses it.
func CreateDatabase(ctx context.Context, serverURL, prefix string) (databaseURL string, drop func(context.Context) error, err error) {
	parsed, err := url.Parse(serverURL)
	if err != nil {
		return "", nil, errors.New("database URL: not a valid postgres:// URL") // err would quote the password
	}
	name := NewName(prefix)
	quoted := pgx.Identifier{name}.Sanitize()
	if err := execute(ctx, serverURL, "CREATE DATABASE "+quoted); err != nil {
		return "", nil, fmt.Errorf("make a database: %w", err)
	}
	parsed.Path = "/" + name
	return parsed.String(), func(ctx context.Context) error {
		if err := execute(ctx, serverURL, "DROP DATABASE "+quoted+" WITH (FORCE)"); err != nil {
			return fmt.Errorf("drop a database: %w", err)
		}
		return nil
	}, nil
}

// execute runs a statement over a connection of its own.
func execute(ctx context.Context, databaseURL, statement string) error {
	connection, err := pgx.Connect(ctx, databaseURL)
	if err != nil {
		return err
	}
	_, err = connection.Exec(ctx, statement)
	return errors.Join(err, connection.Close(ctx))
}

// NewName is one that nobody has: of a database, or of a SKU, whose locks are named after it.
func NewName(prefix string) string { return prefix + strings.ToLower(rand.Text()[:12]) }
