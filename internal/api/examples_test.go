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
	s, operations := open(t), document(t).Paths
	path := strings.NewReplacer("{sku}", "sneaker-42", "{order_id}", "o-1002")
	for _, ask := range []struct{ method, path string }{
		{http.MethodPut, "/v1/skus/{sku}"},
		{http.MethodPost, "/v1/skus/{sku}/deductions"},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/extend"},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/commit"},
		{http.MethodPost, "/v1/skus/{sku}/deductions/{order_id}/return"},
		{http.MethodPost, "/v1/deductions"},
		{http.MethodPost, "/v1/orders"},
		{http.MethodPost, "/v1/skus/{sku}/restock"},
		{http.MethodPost, "/v1/skus/{sku}/adjust"},
		{http.MethodPost, "/v1/skus/{sku}/resegment"},
		{http.MethodPatch, "/v1/skus/{sku}"},
	} {
		content := operations.Find(ask.path).GetOperation(ask.method).RequestBody.Value.Content["application/json"]
		body, err := json.Marshal(content.Example)
		if err != nil {
			t.Fatal(err)
		}
		a := s.send(ask.method, path.Replace(ask.path), string(body))
		if a.status != http.StatusOK && a.status != http.StatusCreated || strings.Contains(a.body, `"problem"`) {
			t.Errorf("%s %s %s: %d %s", ask.method, ask.path, body, a.status, a.body)
		}
	}
}
