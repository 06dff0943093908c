package api_test

import (
	"testing"
	"time"

	"github.com/oapi-codegen/nullable"

	"inventory/internal/api/client"
)

// TestTheClientTakesTermsAway: it changes a term, takes others away, and leaves the rest.
func TestTheClientTakesTermsAway(t *testing.T) {
	t.Parallel()
	s := open(t)
	s.want(s.send("PUT", "/v1/skus/a", `{"stock":10,"segments":1,"name":"A","sale_ends_at":"2999-01-02T03:04:05Z","per_buyer_limit":2,"max_quantity":5}`), 201, "")
	c, err := client.NewClientWithResponses(s.url, client.WithHTTPClient(s.client))
	if err != nil {
		t.Fatal(err)
	}
	told, err := c.ChangeTermsWithResponse(t.Context(), "a", nil, client.TermsRequest{
		Ref: "r", Name: nullable.NewNullableWithValue("B"),
		SaleEndsAt: nullable.NewNullNullable[time.Time](), PerBuyerLimit: nullable.NewNullNullable[int64](),
	})
	if err != nil || told.JSON201 == nil {
		t.Fatalf("%+v, %v", told, err)
	}
	if name, err := told.JSON201.Name.Get(); err != nil || name != "B" || !told.JSON201.PerBuyerLimit.IsNull() || told.JSON201.MaxQuantity.IsSpecified() {
		t.Errorf("it was told %s, %v", told.Body, err)
	}
	s.want(s.send("GET", "/v1/skus/a", ""), 200,
		`{"sku":"a","name":"B","max_quantity":5,"stock":10,"available":10,"reserved":0,"committed":0,"layout":2,"segments":[{"segment":0,"available":10}]}`)
}
