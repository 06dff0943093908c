-- Gives a lock back. In: $1 the name, $2 the owner. Rows: 1 if it was the owner's, else 0.
DELETE FROM textbook_locks WHERE name = $1 AND owner = $2
