package api

import (
	"strconv"
	"time"

	"github.com/go-json-experiment/json/jsontext"
	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// The answers of the hot path are written by hand, which takes a fraction of the time of reflection.

// appendDeduction appends a deduction as JSON.
func appendDeduction(to []byte, d stock.Deduction) []byte {
	to = appendString(append(to, `{"sku":`...), d.SKU)
	to = appendString(append(to, `,"order_id":`...), d.OrderID)
	for _, kept := range stock.KeptTexts() {
		if value := kept.Get(d.Order); value != "" {
			to = appendString(append(append(append(to, `,"`...), kept.Column...), `":`...), value)
		}
	}
	to = strconv.AppendInt(append(to, `,"quantity":`...), d.Quantity, 10)
	to = appendString(append(to, `,"status":`...), string(d.Status))
	if at := expiry(d); !at.IsZero() {
		to = append(at.AppendFormat(append(to, `,"expires_at":"`...), time.RFC3339Nano), '"')
	}
	before := `,"parts":[`
	for _, part := range d.Parts {
		to = append(to, before...)
		before = ","
		to = strconv.AppendInt(append(to, `{"segment":`...), int64(part.Segment), 10)
		to = append(strconv.AppendInt(append(to, `,"quantity":`...), part.Quantity, 10), '}')
	}
	if len(d.Parts) > 0 {
		to = append(to, ']')
	}
	return append(to, '}')
}

// appendResults appends the results of many orders as JSON.
func appendResults(to []byte, results []result) []byte {
	to = append(to, `{"results":[`...)
	for i, r := range results {
		if i > 0 {
			to = append(to, ',')
		}
		to = strconv.AppendInt(append(to, `{"status":`...), int64(r.status), 10)
		if r.refusal != nil {
			to = appendProblem(append(to, `,"problem":`...), *r.refusal)
		} else {
			to = appendDeduction(append(to, `,"deduction":`...), r.deduction)
		}
		to = append(to, '}')
	}
	return append(to, "]}"...)
}

// problemSize in bytes is enough for nearly every problem.
const problemSize = 384

// appendProblem appends a problem as JSON.
func appendProblem(to []byte, p problem) []byte {
	to = append(append(append(to, `{"type":"`+problemPages...), p.Code...), '"')
	to = appendString(append(to, `,"title":`...), p.title)
	to = strconv.AppendInt(append(to, `,"status":`...), int64(p.status), 10)
	to = appendString(append(to, `,"detail":`...), p.Message)
	to = appendString(append(to, `,"code":`...), string(p.Code))
	if p.Field != "" {
		to = appendString(append(to, `,"field":`...), p.Field)
	}
	if p.SKU != "" {
		to = appendString(append(to, `,"sku":`...), p.SKU)
	}
	if p.Code == stock.CodeInsufficientStock {
		to = strconv.AppendInt(append(to, `,"available":`...), p.Available, 10)
	}
	return append(to, '}')
}

// appendString appends a JSON string. Bytes that are not UTF-8 are replaced.
func appendString(to []byte, s string) []byte {
	to, _ = jsontext.AppendQuote(to, s)
	return to
}

// The media types of answers that are written by hand, as they stand in a header.
const (
	mediaJSON    = "application/json"
	mediaProblem = "application/problem+json"
)

// chunkedFrom is the size of an answer in bytes above which net/http does not set the length itself.
const chunkedFrom = 2048

// sendBody sends an answer, with a newline at its end.
func sendBody(c echo.Context, status int, media string, body []byte) error {
	response, body := c.Response(), append(body, '\n')
	response.Header()[echo.HeaderContentType] = []string{media} // the name is in its canonical form already
	if len(body) > chunkedFrom {
		response.Header().Set(echo.HeaderContentLength, strconv.Itoa(len(body)))
	}
	response.WriteHeader(status)
	_, err := response.Write(body)
	return err
}
