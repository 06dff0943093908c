package api

import (
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

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

func (s *server) changeTerms(c echo.Context) error { return changeStock(s, c, termsRequest.movement) }

func (r termsRequest) movement() (m stock.Movement, err error) {
	m = stock.Movement{Kind: stock.Retermed, Reason: r.Reason.value}
	if m.Ref, err = r.Ref.require("ref"); err != nil {
		return m, err
	}
	// A null field reads as if it were absent: the zero value, which removes the term.
	asked := newSKU{
		Name: r.Name.value, SaleStartsAt: r.SaleStartsAt.value, SaleEndsAt: r.SaleEndsAt.value,
		PerBuyerLimit: r.PerBuyerLimit.value, MaxQuantity: r.MaxQuantity.value, MaxReserveFor: r.MaxReserveFor.value,
	}
	terms, err := asked.terms()
	if err == nil && asked.Name.set && asked.Name.value == "" {
		err = invalid("name", "must not be empty; null takes it away")
	}
	m.Terms = stock.TermsChange{
		Name:          stock.NewTerm[string]{Set: r.Name.set, To: asked.Name.value},
		SaleStartsAt:  stock.NewTerm[time.Time]{Set: r.SaleStartsAt.set, To: terms.SaleStartsAt},
		SaleEndsAt:    stock.NewTerm[time.Time]{Set: r.SaleEndsAt.set, To: terms.SaleEndsAt},
		PerBuyerLimit: stock.NewTerm[int64]{Set: r.PerBuyerLimit.set, To: terms.PerBuyerLimit},
		MaxQuantity:   stock.NewTerm[int64]{Set: r.MaxQuantity.set, To: terms.MaxQuantity},
		MaxReserveFor: stock.NewTerm[stock.Period]{Set: r.MaxReserveFor.set, To: stock.Period(terms.MaxReserveFor)},
	}
	return m, err
}
