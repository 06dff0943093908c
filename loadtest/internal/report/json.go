package report

import (
	"errors"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteJSON writes the document as one object, on one line. What is no number is null, because JSON has no word for it.
func (d Document) WriteJSON(to io.Writer) error {
	d.Schema = Schema
	numbers := json.MarshalToFunc(func(to *jsontext.Encoder, value float64) error {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return to.WriteToken(jsontext.Null)
		}
		return errors.ErrUnsupported // as usual
	})
	if err := json.MarshalWrite(to, d, json.WithMarshalers(numbers)); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}
