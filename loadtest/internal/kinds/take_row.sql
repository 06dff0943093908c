-- Takes a lock by its row. In: $1 the name, $2 the owner. Rows: 1 if it was free, else 0.
INSERT INTO textbook_locks (name, owner) VALUES ($1, $2) ON CONFLICT (name) DO NOTHING
