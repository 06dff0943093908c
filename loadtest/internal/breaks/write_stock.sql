-- Writes a row for who has no token. In: $1 its name, $2 how many units will be left. Rows: 1.
UPDATE guarded_stock SET available = $2 WHERE name = $1
