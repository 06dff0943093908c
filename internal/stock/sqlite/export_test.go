package sqlite

// Sharing says which writes share a transaction.
type Sharing = shared

// The ways to share.
const (
	ShareWaiting = sharedWaiting
	ShareNothing = sharedNone
	ShareAll     = sharedAll
)

// Share sets which writes share a transaction. Call it only while the store is not in use.
func (s *Store) Share(which shared) { s.sharing.which = which }
