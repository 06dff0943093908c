package report

import (
	"errors"
	"fmt"
	"io"
	"math"

	"github.com/go-json-experiment/json"
	"github.com/go-json-experiment/json/jsontext"
)

// WriteJSON writes the document as one object, on one line.
func (d Document) WriteJSON(to io.Writer) error {
	d.Schema = Schema
	if err := json.MarshalWrite(to, d, writesNumbers()); err != nil {
		return err
	}
	_, err := io.WriteString(to, "\n")
	return err
}

// Read reads a document that WriteJSON has written, of this schema.
func Read(from io.Reader) (Document, error) {
	var d Document
	if err := json.UnmarshalRead(from, &d, readsNumbers()); err != nil {
		return Document{}, fmt.Errorf("not a report of the lab: %w", err)
	}
	switch d.Schema {
	case Schema:
		return d, nil
	case "":
		return Document{}, errors.New(`not a report of the lab: it has no "schema"`)
	}
	return Document{}, fmt.Errorf("a report of the schema %s, where this program knows %s", d.Schema, Schema)
}

// writesNumbers writes null for what is no number, which JSON has no word for.
func writesNumbers() json.Options {
	return json.WithMarshalers(json.MarshalToFunc(func(to *jsontext.Encoder, value float64) error {
		if math.IsNaN(value) || math.IsInf(value, 0) {
			return to.WriteToken(jsontext.Null)
		}
		return errors.ErrUnsupported // as usual
	}))
}

// readsNumbers takes null for no number.
func readsNumbers() json.Options {
	return json.WithUnmarshalers(json.UnmarshalFromFunc(func(from *jsontext.Decoder, value *float64) error {
		if from.PeekKind() != jsontext.KindNull {
			return errors.ErrUnsupported // as usual
		}
		*value = math.NaN()
		_, err := from.ReadToken()
		return err
	}))
}

// SetOwn sets the members that only one scenario has, from a struct or a map.
func (d *Document) SetOwn(members any) error {
	text, err := json.Marshal(members, writesNumbers(), json.Deterministic(true))
	if err != nil {
		return fmt.Errorf("the members of %s: %w", d.Scenario, err)
	}
	d.Own = text
	return nil
}
