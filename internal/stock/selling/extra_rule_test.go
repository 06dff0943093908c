package selling

import (
	"context"
	"testing"

	"inventory/internal/stock"
)

// shrunk is a store whose SKU has fewer segments than a worker knew.
type shrunk struct{ idle }

func (shrunk) Views(context.Context, ...string) (map[string]stock.View, error) {
	return map[string]stock.View{"a": {Layout: 2, Segments: []int64{batchLimit, 0}}}, nil
}

// A resegment may take away the segment where an extra worker sold last.
func TestAnExtraWorkerLeavesASegmentThatIsGone(t *testing.T) {
	s := NewService(Config{Store: shrunk{}})
	w := newSeller(s, "a").newWorker()
	w.lock.segment = 7
	if !w.claimSegment() || w.lock.segment != 0 {
		t.Errorf("it sells from segment %d", w.lock.segment)
	}
	if err := s.Close(t.Context()); err != nil {
		t.Fatal(err)
	}
}
