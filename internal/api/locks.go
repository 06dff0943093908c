package api

import (
	"net/http"
	"strconv"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

type locksAnswer struct {
	Use   selling.LockUse `json:"use"`
	Locks []lockAnswer    `json:"locks"`
}

// lockAnswer is the lock of a segment that a process holds or waits for.
type lockAnswer struct {
	Segment     int    `json:"segment"`
	Holder      string `json:"holder,omitempty"`
	RemainingMS int64  `json:"remaining_ms"`
	Waiting     int    `json:"waiting"`
}

// readLocks answers with the present holders of a SKU's segments.
func (s *server) readLocks(c echo.Context) error {
	query, from := c.QueryParams(), 0
	limit, err := pageSize(query, selling.MaxLockPage)
	if err == nil && query.Has("from") {
		if from, err = strconv.Atoi(query.Get("from")); err != nil || query.Get("from") != strconv.Itoa(from) {
			err = invalid("from", "must be 0 to "+strconv.Itoa(stock.MaxSegments-1))
		}
	}
	if err != nil {
		return err
	}
	locks, use, err := s.service.SegmentLocks(c.Request().Context(), param(c, "sku"), from, limit)
	if err != nil {
		return err
	}
	answer := locksAnswer{Use: use, Locks: make([]lockAnswer, len(locks))}
	for i, lock := range locks {
		answer.Locks[i] = lockAnswer{Segment: lock.Segment, RemainingMS: lock.Remaining.Milliseconds(), Waiting: lock.Waiting}
		if lock.Held() {
			answer.Locks[i].Holder = lock.Holders[0].Owner
		}
	}
	return c.JSON(http.StatusOK, answer)
}
