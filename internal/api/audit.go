package api

import (
	"net/http"

	"github.com/labstack/echo/v4"

	"inventory/internal/stock"
)

// AuditReport is an audit as JSON.
type AuditReport struct {
	OK         bool         `json:"ok"`
	SKUs       []AuditedSKU `json:"skus"`
	Violations []string     `json:"violations,omitempty"` // in words: those that no sum shows
}

// AuditedSKU is the balance of one SKU in an [AuditReport].
type AuditedSKU struct {
	SKU        string `json:"sku"`
	Initial    int64  `json:"initial"`
	Restocked  int64  `json:"restocked"`
	Adjusted   int64  `json:"adjusted"`
	Available  int64  `json:"available"`
	Reserved   int64  `json:"reserved"`
	Committed  int64  `json:"committed"`
	Difference int64  `json:"difference"`
}

// ReportAudit returns the report of an audit.
func ReportAudit(audit stock.Audit) AuditReport {
	r := AuditReport{OK: audit.OK(), SKUs: make([]AuditedSKU, len(audit.SKUs))}
	for i, b := range audit.SKUs {
		r.Violations = append(r.Violations, b.Violations...)
		r.SKUs[i] = AuditedSKU{
			b.SKU, b.Initial, b.Restocked, b.Adjusted, b.Available, b.Reserved, b.Committed, b.Difference(),
		}
	}
	return r
}

// auditSKU answers with the balance of the SKU in the path.
func (s *server) auditSKU(c echo.Context) error {
	sku := param(c, "sku")
	if sku == "" { // it would mean all SKUs
		return invalid("sku", "must not be empty")
	}
	return s.sendAudit(c, sku)
}

// audit answers with the balance of all SKUs.
func (s *server) audit(c echo.Context) error { return s.sendAudit(c, "") }

func (s *server) sendAudit(c echo.Context, sku string) error {
	audit, err := s.service.Audit(c.Request().Context(), sku)
	if err != nil {
		return err
	}
	return c.JSON(http.StatusOK, ReportAudit(audit))
}
