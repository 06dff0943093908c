package sqlite

// Sharing says which writes share a transaction.
type Sharing = shared

// The ways to share.
const (
	ShareWaiting = sharedWaiting
	ShareNothing = sharedNone
	ShareAll     = sharedAll
)

// Share sets which writes share a transaction. It is not to be called while the store is in use.
func (s *Store) Share(which shared) { s.sharing.which = which }
