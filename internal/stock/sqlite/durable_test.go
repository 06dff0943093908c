package sqlite

import "testing"

// TestWritesAreDurable reads the settings that a power cut would test: a killed process cannot.
func TestWritesAreDurable(t *testing.T) {
	store := opened(t)
	for pragma, want := range map[string]string{"synchronous": "2", "journal_mode": "wal", "foreign_keys": "1"} {
		var got string
		if err := store.writer.QueryRowContext(t.Context(), "PRAGMA "+pragma).Scan(&got); err != nil || got != want {
			t.Errorf("%s is %s, want %s: %v", pragma, got, want, err)
		}
	}
}
