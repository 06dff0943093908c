package api

import (
	"net/http"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
	"inventory/internal/stock/selling"
)

type newSKU struct {
	Stock         field[int64]  `json:"stock"`
	Segments      field[int64]  `json:"segments"`
	Name          field[string] `json:"name"`
	SaleStartsAt  field[string] `json:"sale_starts_at"`
	SaleEndsAt    field[string] `json:"sale_ends_at"`
	PerBuyerLimit field[int64]  `json:"per_buyer_limit"`
	MaxQuantity   field[int64]  `json:"max_quantity"`
	MaxReserveFor duration      `json:"max_reserve_for"`
}

type skuAnswer struct {
	SKU           string          `json:"sku"`
	Name          string          `json:"name,omitempty"`
	SaleStartsAt  time.Time       `json:"sale_starts_at,omitzero"`
	SaleEndsAt    time.Time       `json:"sale_ends_at,omitzero"`
	PerBuyerLimit int64           `json:"per_buyer_limit,omitempty"`
	MaxQuantity   int64           `json:"max_quantity,omitempty"`
	MaxReserveFor string          `json:"max_reserve_for,omitempty"`
	ArchivedAt    time.Time       `json:"archived_at,omitzero"`
	Stock         int64           `json:"stock"`
	Available     int64           `json:"available"`
	Reserved      int64           `json:"reserved"`
	Committed     int64           `json:"committed"`
	Layout        int64           `json:"layout"`
	Segments      []segmentAnswer `json:"segments"`
}

// summaryAnswer is a SKU in a list. It has the members of skuAnswer, but only the number of segments.
type summaryAnswer struct {
	skuAnswer
	Segments int `json:"segments"`
}

type skusAnswer struct {
	SKUs []summaryAnswer `json:"skus"`
	Next string          `json:"next,omitempty"`
}

type segmentAnswer struct {
	Segment   int   `json:"segment"`
	Available int64 `json:"available"`
}

func (s *server) createSKU(c echo.Context) error {
	sku, err := readAs[newSKU](c, decode)
	if err != nil {
		return err
	}
	sku.SKU = param(c, "sku")
	status, created, err := s.Service.CreateSKU(c.Request().Context(), sku)
	if err != nil {
		return err
	}
	return c.JSON(createdOrOK(created), statusAnswer(status))
}

func (n newSKU) read(f *form) stock.NewSKU {
	sku := stock.NewSKU{Name: n.Name.value, Stock: required(f, "stock", n.Stock), Segments: stock.DefaultSegments, Terms: n.terms(f)}
	if n.Segments.set {
		sku.Segments = int(n.Segments.value)
	}
	return sku
}

// ReadNewSKU reads a SKU to create as the service does, from the JSON body of the request, and refuses it with the same errors.
func ReadNewSKU(name string, body []byte) (stock.NewSKU, error) {
	var given newSKU
	if err := decodeText(body, &given); err != nil {
		return stock.NewSKU{}, err
	}
	var f form
	sku := given.read(&f)
	if sku.SKU = name; f.err == nil {
		f.err = sku.Check()
	}
	return sku, f.err
}

func (n newSKU) terms(f *form) stock.Terms {
	return stock.Terms{
		SaleStartsAt: f.instant("sale_starts_at", n.SaleStartsAt), SaleEndsAt: f.instant("sale_ends_at", n.SaleEndsAt),
		PerBuyerLimit: f.count("per_buyer_limit", n.PerBuyerLimit, stock.MaxStock),
		MaxQuantity:   f.count("max_quantity", n.MaxQuantity, stock.MaxQuantity),
		MaxReserveFor: f.period("max_reserve_for", n.MaxReserveFor),
	}
}

func (s *server) readSKU(c echo.Context) error {
	status, err := s.Service.SKU(c.Request().Context(), param(c, "sku"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, statusAnswer(status))
}

// archiveSKU ends the sale of a SKU for good.
func (s *server) archiveSKU(c echo.Context) error {
	status, err := s.Service.Archive(c.Request().Context(), param(c, "sku"))
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, statusAnswer(status))
}

// readSKUs returns a page of all SKUs.
func (s *server) readSKUs(c echo.Context) error {
	query := c.QueryParams()
	limit, err := pageSize(query, selling.MaxSKUPage)
	if err != nil {
		return err
	}
	if query.Has("after") && query.Get("after") == "" {
		return invalid("after", "must be the next of an earlier answer")
	}
	statuses, err := s.Service.SKUs(c.Request().Context(), query.Get("after"), limit)
	if err != nil {
		return err
	}
	answer := skusAnswer{SKUs: make([]summaryAnswer, len(statuses))}
	for i, status := range statuses {
		answer.SKUs[i] = summaryAnswer{Segments: len(status.Segments), skuAnswer: statusAnswer(status)}
	}
	if len(statuses) == limit { // more may follow
		answer.Next = statuses[limit-1].SKU
	}
	return c.JSON(http.StatusOK, answer)
}

func statusAnswer(status stock.Status) skuAnswer {
	a := skuAnswer{
		SKU: status.SKU, Name: status.Name, Stock: status.Stock,
		SaleStartsAt: status.SaleStartsAt.UTC(), SaleEndsAt: status.SaleEndsAt.UTC(),
		PerBuyerLimit: status.PerBuyerLimit, MaxQuantity: status.MaxQuantity, MaxReserveFor: durationOrNone(status.MaxReserveFor),
		ArchivedAt: status.ArchivedAt.UTC(),
		Available:  status.Available, Reserved: status.Reserved, Committed: status.Committed,
		Layout: status.Layout, Segments: make([]segmentAnswer, len(status.Segments)),
	}
	for i, available := range status.Segments {
		a.Segments[i] = segmentAnswer{Segment: i, Available: available}
	}
	return a
}

func createdOrOK(created bool) int {
	if created {
		return http.StatusCreated
	}
	return http.StatusOK
}

// termsRequest is the body of a request that changes a SKU's name and terms. null removes one.
type termsRequest struct {
	Ref           field[string]                         `json:"ref"`
	Reason        field[string]                         `json:"reason"`
	Name          orNull[field[string], *field[string]] `json:"name"`
	SaleStartsAt  orNull[field[string], *field[string]] `json:"sale_starts_at"`
	SaleEndsAt    orNull[field[string], *field[string]] `json:"sale_ends_at"`
	PerBuyerLimit orNull[field[int64], *field[int64]]   `json:"per_buyer_limit"`
	MaxQuantity   orNull[field[int64], *field[int64]]   `json:"max_quantity"`
	MaxReserveFor orNull[duration, *duration]           `json:"max_reserve_for"`
}

// orNull is a field that may be null.
type orNull[F any, P interface {
	*F
	UnmarshalJSONFrom(d *jsontext.Decoder) error
}] struct {
	set   bool
	value F
}

// UnmarshalJSONFrom implements [json.UnmarshalerFrom].
func (f *orNull[F, P]) UnmarshalJSONFrom(d *jsontext.Decoder) error {
	f.set = true
	if d.PeekKind() == 'n' {
		_, err := d.ReadToken()
		return err
	}
	return P(&f.value).UnmarshalJSONFrom(d)
}

func (r termsRequest) read(f *form) stock.Movement {
	m := stock.Movement{Kind: stock.Retermed, Ref: required(f, "ref", r.Ref), Reason: r.Reason.value}
	// A null field reads as if it were absent: the zero value, which removes the term.
	asked := newSKU{
		Name: r.Name.value, SaleStartsAt: r.SaleStartsAt.value, SaleEndsAt: r.SaleEndsAt.value,
		PerBuyerLimit: r.PerBuyerLimit.value, MaxQuantity: r.MaxQuantity.value, MaxReserveFor: r.MaxReserveFor.value,
	}
	terms := asked.terms(f)
	if asked.Name.set && asked.Name.value == "" {
		f.refuse("name", "must not be empty; null takes it away")
	}
	m.Terms = stock.TermsChange{
		Name:          stock.NewTerm[string]{Set: r.Name.set, To: asked.Name.value},
		SaleStartsAt:  stock.NewTerm[time.Time]{Set: r.SaleStartsAt.set, To: terms.SaleStartsAt},
		SaleEndsAt:    stock.NewTerm[time.Time]{Set: r.SaleEndsAt.set, To: terms.SaleEndsAt},
		PerBuyerLimit: stock.NewTerm[int64]{Set: r.PerBuyerLimit.set, To: terms.PerBuyerLimit},
		MaxQuantity:   stock.NewTerm[int64]{Set: r.MaxQuantity.set, To: terms.MaxQuantity},
		MaxReserveFor: stock.NewTerm[stock.Period]{Set: r.MaxReserveFor.set, To: stock.Period(terms.MaxReserveFor)},
	}
	return m
}
