package api_test

import (
	"encoding/json"
	"net/http"
	"strings"
	"testing"
)

// TestExamplesCanBeSent sends the document's examples as they are, in the order of a sale.
func TestExamplesCanBeSent(t *testing.T) {
	t.Parallel()
	const one, other, several, unpaid = "o-1002", "o-1003", "o-1005", "o-1006"
	s, operations := open(t), document(t).Paths
	for _, ask := range []struct{ method, path, orderID string }{
		{http.MethodPut, "/v1/skus/{sku}", ""},
		{http.MethodPost, "/v1/skus/{sku}/deductions", one},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/extend", one},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/cancel", one},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/commit", one},
		{http.MethodPost, "/v1/deductions", other},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/return", other},
		{http.MethodPost, "/v1/orders", several},
		{http.MethodPost, "/v1/orders/{order_id}/commit", several},
		{http.MethodPost, "/v1/orders/{order_id}/return", several},
		{http.MethodPost, "/v1/orders/{order_id}/extend", unpaid},
		{http.MethodPost, "/v1/orders/{order_id}/change", unpaid},
		{http.MethodPost, "/v1/orders/{order_id}/cancel", unpaid},
		{http.MethodPost, "/v1/skus/{sku}/restock", ""},
		{http.MethodPost, "/v1/skus/{sku}/adjust", ""},
		{http.MethodPost, "/v1/skus/{sku}/resegment", ""},
		{http.MethodPatch, "/v1/skus/{sku}", ""},
	} {
		if ask.path == "/v1/orders" {
			s.want(s.send(ask.method, ask.path, `{"order_id":"`+unpaid+`","reserve_for":"1m","lines":[{"sku":"sneaker-42","quantity":1}]}`), 201, "")
		}
		content := operations.Find(ask.path).GetOperation(ask.method).RequestBody.Value.Content["application/json"]
		body, err := json.Marshal(content.Example)
		if err != nil {
			t.Fatal(err)
		}
		path := strings.NewReplacer("{sku}", "sneaker-42", "{order_id}", ask.orderID).Replace(ask.path)
		a := s.send(ask.method, path, string(body))
		if a.status != http.StatusOK && a.status != http.StatusCreated || strings.Contains(a.body, `"problem"`) {
			t.Errorf("%s %s %s: %d %s", ask.method, path, body, a.status, a.body)
		}
	}
}
