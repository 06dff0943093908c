package postgres

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/stock"
)

// SQLSTATEs. The first two say that a constraint fired: the class of constraints, and the class of values that no column takes. The others abort a statement or a transaction; the class inventory is that of our own functions.
const (
	constraintViolation  = "23"
	dataException        = "22"
	lockNotAvailable     = "55P03"
	deadlockDetected     = "40P01"
	serializationFailure = "40001"
	queryCanceled        = "57014"
	noSuchStatement      = "26000"
	duplicateStatement   = "42P05"
	inventory            = "IN"
	required             = "IN002" // of inventory_require
	uniqueViolation      = "23505"
)

// translate marks an error as ErrGuard if a constraint fired: none of our statements should ever violate one.
func translate(err error) error {
	if state := StateOf(err); strings.HasPrefix(state, constraintViolation) || strings.HasPrefix(state, dataException) {
		return fmt.Errorf("%w: %w", stock.ErrGuard, err)
	}
	return err
}

// StateOf returns the SQLSTATE of an error, "" if PostgreSQL has not sent it.
func StateOf(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// Answered reports whether an error comes from the server, which therefore is there.
func Answered(err error) bool { return StateOf(err) != "" }

// Deadlocked reports whether a transaction was undone because of a deadlock or what looked like one, or because it waited too
// long for a row.
func Deadlocked(err error) bool {
	state := StateOf(err)
	return state == deadlockDetected || state == lockNotAvailable
}

// undone marks the error of a message that commits, if nothing is written for certain: the message was not sent, or the server has
// answered that it has undone the transaction.
func (a Access) undone(err error) error {
	if unsent(err) || !a.Scattered && rolledBack(err) {
		return stock.Unwritten(err)
	}
	return err
}

// unsent reports whether a message was not sent. pgconn says so of a connection that it finds closed, too, also if it closed it
// itself because the answer to the message did not come.
func unsent(err error) bool { return pgconn.SafeToRetry(err) && !errors.Is(err, pgconn.ErrConnClosed) }

// rolledBack reports whether the server has answered with an error that undoes the transaction. PostgreSQL sends no ERROR after
// a commit. A FATAL may come after it. Errors of poolers and proxies that lose the server have other SQLSTATEs.
func rolledBack(err error) bool {
	pgErr, answered := errors.AsType[*pgconn.PgError](err)
	if !answered || pgErr.SeverityUnlocalized != "ERROR" || len(pgErr.Code) != len("00000") {
		return false
	}
	return slices.Contains([]string{serializationFailure, deadlockDetected, queryCanceled}, pgErr.Code) ||
		slices.Contains([]string{
			"0A", "21", constraintViolation, dataException, "25", "26", // not supported; cardinality; the transaction's state; no such statement
			"42", "53", "54", "55", "P0", inventory, // access; resources; limits of the server; not in the right state; raised by a trigger; by us
		}, pgErr.Code[:2])
}
