package locksim

import (
	"fmt"
	"maps"

	"github.com/anishathalye/porcupine"
)

// rwState is a fenced reentrant read-write lock: one writer, or many readers, or a writer who reads too.
type rwState struct {
	writer  string
	writes  int // of writer; 0: none
	readers map[string]int
	token   raised // of the writer
	phase   raised // of the readers
	top     int64  // the highest token there was
}

// raised is the token of a grant or a phase, in the beginning and now. Who got one between the two may keep it.
type raised struct{ from, to int64 }

// with is what it is with a new token.
func (r raised) with(token int64) raised { return raised{r.from, max(r.to, token)} }

// has tells whether a token is one of it.
func (r raised) has(token int64) bool { return r.from <= token && token <= r.to }

// RWModel is a read-write lock with tokens that grow with each writer and each phase of readers. The writer
// may read, and is a reader when it has given its last write hold back; a reader never becomes a writer.
func RWModel() porcupine.Model {
	return porcupine.Model{
		Init: func() any { return rwState{} },
		Step: func(state, input, _ any) (bool, any) {
			return granted(input.(Op), func(o Op) (bool, any) { return state.(rwState).step(o) })
		},
		Equal:             func(a, b any) bool { return a.(rwState).equal(b.(rwState)) },
		DescribeOperation: func(input, _ any) string { return input.(Op).String() },
		DescribeState:     func(state any) string { return fmt.Sprintf("%+v", state) },
	}
}

func (s rwState) equal(o rwState) bool {
	return s.writer == o.writer && s.writes == o.writes && s.token == o.token && s.phase == o.phase &&
		s.top == o.top && maps.Equal(s.readers, o.readers)
}

// step tells whether an operation is possible in a state, and what the state is afterwards.
func (s rwState) step(o Op) (bool, rwState) {
	writes := s.writes > 0 && s.writer == o.Owner && s.token.has(o.Token)
	reads := s.readers[o.Owner] > 0 && s.phase.has(o.Token)
	switch o.Kind {
	case OpLock:
		if writes {
			s.writes++
			return true, s
		}
		if o.Shared && s.writes == 0 && s.writer == o.Owner && s.token.has(o.Token) && s.onlyReader(o.Owner) { // it was kept
			s.writes++
			return true, s
		}
		free := s.writes == 0 && len(s.readers) == 0 && o.Token > s.top
		return free, rwState{writer: o.Owner, writes: 1, token: raised{o.Token, o.Token}, top: o.Token}
	case OpUnlock, OpEnd:
		if writes {
			s.writes--
		}
		return writes || o.Kind == OpEnd, s
	case OpRead:
		return s.read(o)
	case OpReadUnlock, OpReadEnd:
		if reads {
			s = s.with(o.Owner, -1)
		}
		return reads || o.Kind == OpReadEnd, s
	case OpForce:
		s.writer, s.writes, s.token = "", 0, raised{}
		return true, s
	case OpReadForce:
		s.readers, s.phase = nil, raised{}
		return true, s
	case OpRaise:
		s.token, s.top = s.token.with(o.Token), max(s.top, o.Token)
		return true, s
	case OpReadRaise:
		s.phase, s.top = s.phase.with(o.Token), max(s.top, o.Token)
		return true, s
	default:
		return o.Crowded || s.writes > 0 && s.writer != o.Owner || len(s.readers) > 0, s
	}
}

// read lets an owner in that wants to read.
func (s rwState) read(o Op) (bool, rwState) {
	switch {
	case s.writes > 0 && s.writer != o.Owner:
		return false, s
	case len(s.readers) > 0:
		known := s.readers[o.Owner] > 0 || o.Crowded // with a token from before it was raised
		return o.Token == s.phase.to || known && s.phase.has(o.Token), s.with(o.Owner, 1)
	case o.Crowded && s.writes == 0 && s.phase.has(o.Token) && s.phase.to == s.top: // somebody unknown kept the phase
		return true, s.with(o.Owner, 1)
	case o.Shared && s.writer == o.Owner && s.phase.has(o.Token): // the writer did
		return true, s.with(o.Owner, 1)
	case o.Token <= s.top:
		return false, s
	}
	s.phase, s.top = raised{o.Token, o.Token}, o.Token
	return true, s.with(o.Owner, 1)
}

// onlyReader tells whether nobody else reads.
func (s rwState) onlyReader(owner string) bool {
	return len(s.readers) == 0 || len(s.readers) == 1 && s.readers[owner] > 0
}

// with returns the state with one more or one less hold of a reader.
func (s rwState) with(owner string, more int) rwState {
	s.readers = maps.Clone(s.readers)
	if s.readers == nil {
		s.readers = make(map[string]int)
	}
	if s.readers[owner] += more; s.readers[owner] == 0 {
		delete(s.readers, owner)
	}
	return s
}
