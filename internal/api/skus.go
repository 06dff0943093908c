package api

import (
	"slices"
	"time"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

// skuAnswer is a SKU as JSON. In a list its segments are only their number.
type skuAnswer struct {
	stock.Status
	MaxReserveFor stock.Period `json:"max_reserve_for,omitzero"`
	Segments      any          `json:"segments"`
}

type segmentAnswer struct {
	Segment   int   `json:"segment"`
	Available int64 `json:"available"`
}

type skusAnswer struct {
	SKUs      []skuAnswer `json:"skus"`
	Next      string      `json:"next,omitempty"`
	StoppedAt string      `json:"stopped_at,omitempty"`
}

func (s *server) createSKU(c echo.Context) (created bool, answer any, err error) {
	sku, err := readAs(s, c, maxBodyBytes, newSKU)
	if err != nil {
		return false, nil, err
	}
	sku.SKU = param(c, "sku")
	create := s.Service.CreateSKU
	dryRun, err := isTrue(c.QueryParams(), "dry_run")
	if dryRun {
		create = s.Service.TryCreateSKU
	}
	if err != nil {
		return false, nil, err
	}
	status, created, err := create(c.Request().Context(), sku)
	return created, statusAnswer(status), err
}

func newSKU(f *form) stock.NewSKU {
	name, _ := f.text("name")
	sku := stock.NewSKU{Name: name, Stock: required(f, (*form).number, "stock"), Segments: stock.DefaultSegments, Terms: f.terms()}
	if segments, there := f.number("segments"); there {
		sku.Segments = int(segments)
	}
	return sku
}

func (f *form) terms() stock.Terms {
	group, there := f.text("limit_group")
	if there && group == "" {
		f.refuse("limit_group", "must not be empty")
	}
	return stock.Terms{
		LimitGroup:   group,
		SaleStartsAt: f.instant("sale_starts_at"), SaleEndsAt: f.instant("sale_ends_at"),
		PerBuyerLimit: f.count("per_buyer_limit", stock.MaxStock), MaxQuantity: f.count("max_quantity", stock.MaxQuantity),
		MaxReserveFor: f.period("max_reserve_for"),
	}
}

func (s *server) readSKU(c echo.Context) (any, error) {
	status, err := s.Service.SKU(c.Request().Context(), param(c, "sku"))
	return statusAnswer(status), err
}

// archiveSKU ends the sale of a SKU for good.
func (s *server) archiveSKU(c echo.Context) (created bool, answer any, err error) {
	status, err := s.Service.Archive(c.Request().Context(), param(c, "sku"))
	return false, statusAnswer(status), err
}

// readSKUs returns a page of all SKUs, or of those that a text finds.
func (s *server) readSKUs(c echo.Context) (any, error) {
	query := c.QueryParams()
	limit, err := pageSize(query, selling.MaxSKUPage)
	if err != nil {
		return nil, err
	}
	for _, name := range []string{"after", "q"} {
		if query.Has(name) && query.Get(name) == "" {
			return nil, invalid(name, "must not be empty; leave it out")
		}
	}
	if query.Has("q") {
		found, err := s.Service.FindSKUs(c.Request().Context(), query.Get("q"), query.Get("after"), limit)
		return skusAnswer{SKUs: summaries(found.SKUs), Next: found.Next, StoppedAt: found.StoppedAt}, err
	}
	statuses, err := s.Service.SKUs(c.Request().Context(), query.Get("after"), limit)
	answer := skusAnswer{SKUs: summaries(statuses)}
	if len(statuses) == limit { // more may follow
		answer.Next = statuses[limit-1].SKU
	}
	return answer, err
}

// summaries returns SKUs as a list has them.
func summaries(statuses []stock.Status) []skuAnswer {
	skus := make([]skuAnswer, len(statuses))
	for i, status := range statuses {
		skus[i] = summary(status, len(status.Segments))
	}
	return skus
}

func statusAnswer(status stock.Status) skuAnswer {
	segments := make([]segmentAnswer, len(status.Segments))
	for i, available := range status.Segments {
		segments[i] = segmentAnswer{Segment: i, Available: available}
	}
	return summary(status, segments)
}

func summary(status stock.Status, segments any) skuAnswer {
	for _, at := range []*time.Time{&status.SaleStartsAt, &status.SaleEndsAt, &status.ArchivedAt, &status.LimitSince} {
		*at = at.UTC()
	}
	return skuAnswer{Status: status, MaxReserveFor: stock.Period(status.MaxReserveFor), Segments: segments}
}

// termsRequest reads a change of a SKU's name and terms. null removes one: it reads as if it were absent, the zero value.
func termsRequest(f *form) stock.Movement {
	m := stock.Movement{Kind: stock.Retermed, Ref: required(f, (*form).text, "ref")}
	m.Reason, _ = f.text("reason")
	asked := f.takeNulls("name", "sale_starts_at", "sale_ends_at", "per_buyer_limit", "max_quantity", "max_reserve_for", "limit_group")
	terms := f.terms()
	name, there := f.text("name")
	if there && name == "" {
		f.refuse("name", "must not be empty; null takes it away")
	}
	m.Terms = stock.TermsChange{
		Name:          stock.NewTerm[string]{Set: asked["name"], To: name},
		SaleStartsAt:  stock.NewTerm[time.Time]{Set: asked["sale_starts_at"], To: terms.SaleStartsAt},
		SaleEndsAt:    stock.NewTerm[time.Time]{Set: asked["sale_ends_at"], To: terms.SaleEndsAt},
		PerBuyerLimit: stock.NewTerm[int64]{Set: asked["per_buyer_limit"], To: terms.PerBuyerLimit},
		MaxQuantity:   stock.NewTerm[int64]{Set: asked["max_quantity"], To: terms.MaxQuantity},
		LimitGroup:    stock.NewTerm[string]{Set: asked["limit_group"], To: terms.LimitGroup},
		MaxReserveFor: stock.NewTerm[stock.Period]{Set: asked["max_reserve_for"], To: stock.Period(terms.MaxReserveFor)},
	}
	return m
}

// takeNulls returns which of some fields are there, and takes those away that are null.
func (f *form) takeNulls(names ...string) (there map[string]bool) {
	there = make(map[string]bool)
	for _, name := range names {
		there[name] = f.has(name)
	}
	f.fields = slices.DeleteFunc(f.fields, func(g given) bool { return there[string(g.name)] && g.value.Kind() == 'n' })
	return there
}
