package postgres

import (
	"errors"
	"fmt"
	"strings"

	"github.com/jackc/pgx/v5/pgconn"

	"inventory/internal/stock"
)

// SQLSTATEs. The first four say that a constraint fired: a unique key; a CHECK; the class of all constraints; and the class
// of values that no column takes. The others abort a statement or a transaction.
const (
	uniqueViolation      = "23505"
	checkViolation       = "23514"
	constraintViolation  = "23"
	dataException        = "22"
	divisionByZero       = "22012"
	cardinalityViolation = "21000"
	lockNotAvailable     = "55P03"
	deadlockDetected     = "40P01"
	serializationFailure = "40001"
	queryCanceled        = "57014"
	noSuchStatement      = "26000"
	duplicateStatement   = "42P05"
)

// translate marks an error as ErrGuard if a constraint fired: none of our statements should ever violate one.
func translate(err error) error {
	if state := stateOf(err); strings.HasPrefix(state, constraintViolation) || strings.HasPrefix(state, dataException) {
		return fmt.Errorf("%w: %w", stock.ErrGuard, err)
	}
	return err
}

// stateOf returns the SQLSTATE of an error, "" if PostgreSQL has not sent it.
func stateOf(err error) string {
	var pgErr *pgconn.PgError
	if errors.As(err, &pgErr) {
		return pgErr.Code
	}
	return ""
}

// raced reports whether the statement of a batch was aborted by a race.
//
// PostgreSQL checks constraints on the row version of the statement's snapshot, before it notices that the row has a
// newer one. So a batch that waited for a restock, and was admitted because of it, violates the constraint with the stock
// from before it. The statement divides by zero if another batch was faster with an order id, or if it is too late. A buyer
// who occurs twice violates its cardinality. The transaction that follows finds out which of these it was.
func raced(err error) bool {
	switch stateOf(err) {
	case checkViolation, divisionByZero, cardinalityViolation:
		return true
	default:
		return false
	}
}
