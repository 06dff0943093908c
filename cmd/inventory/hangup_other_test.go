//go:build !linux

package main

import (
	"net"
	"testing"
)

// hangUp closes a connection.
func hangUp(t *testing.T, conn net.Conn) {
	t.Helper()
	if err := conn.Close(); err != nil {
		t.Fatal(err)
	}
}
