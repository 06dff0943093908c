package api_test

import (
	"strings"
	"testing"

	"github.com/gorilla/websocket"
)

// TestLive: the live page is there, and the data that it receives has our own series.
func TestLive(t *testing.T) {
	t.Parallel()
	s := open(t)
	if page := s.admin("/debug/statsviz"); !strings.Contains(page, "<html") {
		t.Errorf("the page is %.300s", page)
	}
	at := "ws" + strings.TrimPrefix(s.adminURL, "http") + "/debug/statsviz/ws"
	conn, response, err := websocket.DefaultDialer.DialContext(t.Context(), at, nil)
	if err != nil {
		t.Fatal(err)
	}
	defer func() { _ = conn.Close() }() // only read from
	defer response.Body.Close()
	_, config, err := conn.ReadMessage()
	if err != nil {
		t.Fatal(err)
	}
	for _, series := range []string{"inventory-queues", "inventory-batches", "inventory-lock-waits", "inventory-merges"} {
		if !strings.Contains(string(config), series) {
			t.Errorf("there is no %s in %.300s", series, config)
		}
	}
	if _, values, err := conn.ReadMessage(); err != nil || !strings.Contains(string(values), "inventory-queues") {
		t.Errorf("values %.300s, %v", values, err)
	}
}
