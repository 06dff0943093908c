package tables

import (
	"testing"
	"time"

	"inventory/internal/busytest"
	"inventory/internal/stock"
)

// TestUntilWhenNoReservationIsLive: a look moves the instant to the earliest reservation that it finds, or to its own beginning. Once in a
// while it begins at the beginning, and then the instant may move back.
func TestUntilWhenNoReservationIsLive(t *testing.T) {
	t.Parallel()
	busytest.Virtual(t, func(t *testing.T) {
		w, began := &Swept{}, time.Now()
		is := func(what string, got Instant, want time.Time) {
			t.Helper()
			if !time.Time(got).Equal(want) {
				t.Errorf("%s: %s, want %s", what, time.Time(got), want)
			}
		}
		is("before a look", w.Until(time.Time{}), time.Time{})
		is("the first look begins", w.from(time.Time{}), time.Time{})
		w.found(nil, began)
		is("nothing was found", w.Until(time.Time{}), began.Add(-lateBy))
		is("the next look begins", w.from(time.Time{}), began.Add(-lateBy))
		is("an instant is given", w.Until(began), time.Time{})
		is("a look at an instant begins", w.from(began), time.Time{})

		time.Sleep(lookAgain / 2)
		overdue := began.Add(time.Second)
		w.found([]stock.Due{{SKU: "a", Since: overdue}, {SKU: "b", Since: overdue.Add(time.Second)}}, time.Now())
		is("two were found", w.Until(time.Time{}), overdue.Add(-lateBy))

		time.Sleep(lookAgain)
		is("a later look begins", w.from(time.Time{}), time.Time{})
		w.found([]stock.Due{{SKU: "late", Since: began.Add(-time.Hour)}}, time.Now())
		is("one was committed late", w.Until(time.Time{}), began.Add(-time.Hour-lateBy))
	})
}
