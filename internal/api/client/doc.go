// Package client is the Go client of the HTTP API. The client and its types are generated from openapi.yaml;
// [Service] asks again until an answer is final.
package client

//go:generate go tool -modfile=../../../tools.mod oapi-codegen -config config.yaml ../openapi.yaml
