package citus

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"net"
	"slices"
	"strconv"
	"strings"

	"inventory/internal/stock"
	"inventory/internal/stock/postgres"
	"inventory/internal/stock/tables"
)

// Outbox is the [stock.Outbox] of a cluster. Each node has an outbox of its own, because changes are in the order of one
// server's transactions. A cursor has a position in each of them: GROUP:CURSOR,GROUP:CURSOR. A node keeps its group when
// another server takes its place.
//
// The outbox of the coordinator turns it on and off, which Citus does in all shards, and says what the nodes have that answer.
type Outbox struct {
	*postgres.Outbox
	store *Store
}

var _ stock.Outbox = (*Outbox)(nil)

// Outbox returns the outbox of the database.
func (s *Store) Outbox() *Outbox { return &Outbox{s.coordinator.store.Outbox(), s} }

// outboxes returns the outbox of each node, by the node's group.
func (o *Outbox) outboxes(ctx context.Context) (map[int]*postgres.Outbox, error) {
	all := make(map[int]*postgres.Outbox)
	err := o.store.coordinator.store.DB.Each(ctx, func(row tables.Row) error {
		var group, port int
		var host string
		if err := row.Scan(&group, &host, &port); err != nil {
			return err
		}
		o.store.mu.Lock()
		defer o.store.mu.Unlock()
		there, err := o.store.nodeLocked(net.JoinHostPort(host, strconv.Itoa(port)))
		if err == nil {
			all[group] = there.store.Outbox()
		}
		return err
	}, "nodes")
	if err != nil {
		return nil, fmt.Errorf("read which nodes there are: %w", err)
	}
	return all, nil
}

// Read implements [stock.Outbox]. It merges the changes of all nodes, older ones first. If a node is gone, it returns the
// changes of the others.
func (o *Outbox) Read(ctx context.Context, after string, limit int) (changes []stock.Change, err error) {
	at, err := parseCursor(after)
	if err != nil {
		return nil, err
	}
	outboxes, err := o.outboxes(ctx)
	if err != nil {
		return nil, err
	}
	there := make(map[int][]stock.Change, len(outboxes))
	var errs []error
	for group, outbox := range outboxes {
		found, err := outbox.Read(ctx, at[group], limit)
		if _, bad := errors.AsType[stock.BadCursor](err); bad { // also if others have changes: that node's would be missed
			return nil, stock.BadCursor(after)
		}
		there[group], errs = found, append(errs, err)
	}
	for len(changes) < limit {
		group, found := oldest(there)
		if !found {
			break
		}
		change := there[group][0]
		there[group] = there[group][1:]
		at[group] = change.Cursor
		change.Cursor = at.String()
		changes = append(changes, change)
	}
	if len(changes) == 0 {
		err = errors.Join(errs...)
	}
	return changes, err
}

// oldest returns the group whose next change is the oldest.
func oldest(there map[int][]stock.Change) (group int, found bool) {
	for _, g := range slices.Sorted(maps.Keys(there)) {
		if len(there[g]) > 0 && (!found || there[g][0].At.Before(there[group][0].At)) {
			group, found = g, true
		}
	}
	return group, found
}

// Trim implements [stock.Outbox].
func (o *Outbox) Trim(ctx context.Context, before string) (removed int64, err error) {
	at, err := parseCursor(before)
	if err != nil {
		return 0, err
	}
	outboxes, err := o.outboxes(ctx)
	if err != nil {
		return 0, err
	}
	for group, outbox := range outboxes { // before anything is removed
		err := outbox.Check(ctx, at[group])
		if _, bad := errors.AsType[stock.BadCursor](err); bad {
			return 0, stock.BadCursor(before)
		}
		if err != nil {
			return 0, err
		}
	}
	for group, outbox := range outboxes {
		n, err := outbox.Trim(ctx, at[group])
		removed += n
		if err != nil {
			return removed, err
		}
	}
	return removed, nil
}

// cursor is a position in the outbox of each group; a missing one is before all.
type cursor map[int]string

func (c cursor) String() string {
	var places []string
	for _, group := range slices.Sorted(maps.Keys(c)) {
		places = append(places, strconv.Itoa(group)+":"+c[group])
	}
	return strings.Join(places, ",")
}

func parseCursor(text string) (cursor, error) {
	at := make(cursor)
	if text == "" {
		return at, nil
	}
	for place := range strings.SplitSeq(text, ",") {
		number, there, whole := strings.Cut(place, ":")
		group, err := strconv.Atoi(number)
		if !whole || err != nil || group < 0 || !postgres.IsCursor(there) {
			return nil, stock.BadCursor(text)
		}
		at[group] = there
	}
	return at, nil
}
