package sqlite

// Sharing says which writes share a transaction.
type Sharing uint8

// The ways to share.
const (
	ShareWaiting Sharing = iota // those that wait at the same time
	ShareNothing
	ShareAll // also a write that could go by itself
)

// Share sets which writes share a transaction. Call it only while the store is not in use.
func (s *Store) Share(which Sharing) {
	s.sharing.fewest, s.sharing.most = 2, mostShared
	switch which {
	case ShareWaiting:
	case ShareNothing:
		s.sharing.most = 0
	case ShareAll:
		s.sharing.fewest = 1
	}
}
