package sqlite

import "inventory/internal/stock/tables"

// Sharing says which writes share a transaction.
type Sharing = tables.Sharing

// The ways to share.
const (
	ShareWaiting = tables.ShareWaiting
	ShareNothing = tables.ShareNothing
	ShareAll     = tables.ShareAll
)

// Share sets which writes share a transaction. Call it only while the store is not in use.
func (s *Store) Share(which tables.Sharing) { s.sharing.which = which }
