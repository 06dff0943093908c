// Package client is the Go client of the HTTP API. The client and its types are generated from openapi.yaml;
// [Fleet] adds what a caller of several processes needs.
package client

//go:generate go tool -modfile=../../../tools.mod oapi-codegen -config config.yaml ../openapi.yaml
