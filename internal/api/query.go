package api

import (
	"maps"
	"net/url"
	"slices"

	"github.com/labstack/echo/v4"
)

// parametersOf returns the query parameters that a route may have. Routes not listed have none.
func parametersOf(r route) []string {
	switch r.method + " " + r.path {
	case "GET /v1/skus", "GET /v1/skus/:sku/movements":
		return []string{"after", "limit"}
	case "GET /v1/skus/:sku/deductions":
		return []string{"after", "buyer_id", "limit", "status"}
	case "GET /v1/skus/:sku/locks":
		return []string{"from", "limit"}
	case "GET /v1/events":
		return []string{"sku"}
	case "GET /v1/skus/:sku/deductions/:order_id",
		"POST /v1/skus/:sku/deductions/:order_id/commit", "POST /v1/skus/:sku/deductions/:order_id/extend", "POST /v1/skus/:sku/deductions/:order_id/cancel":
		return []string{"buyer_id"}
	default:
		return nil
	}
}

// knowing passes a request to a handler if its query is well formed and has only known parameters, each once: a misspelt
// parameter must not be ignored. The handler finds them in c.QueryParams().
func knowing(parameters []string, handler echo.HandlerFunc) echo.HandlerFunc {
	return func(c echo.Context) error {
		if query := c.Request().URL.RawQuery; query != "" {
			if err := checkQuery(query, parameters); err != nil {
				return err
			}
		}
		return handler(c)
	}
}

func checkQuery(query string, parameters []string) error {
	values, err := url.ParseQuery(query)
	if err != nil {
		return invalid("query", "is not a valid query string")
	}
	for _, name := range slices.Sorted(maps.Keys(values)) {
		if !slices.Contains(parameters, name) {
			if name == "" {
				return invalid("query", "has a parameter without a name")
			}
			return invalid(name, "is not a parameter of this request")
		}
		if len(values[name]) > 1 {
			return invalid(name, "is there twice")
		}
	}
	return nil
}
