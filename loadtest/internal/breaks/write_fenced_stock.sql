-- Writes a row under a fencing token. In: $1 its name, $2 how many units will be left, $3 the token, $4 whose it is.
-- Rows: 1, or 0 if a newer token has written.
UPDATE guarded_stock SET available = $2, fence = $3, fence_owner = $4
WHERE name = $1 AND (fence < $3 OR (fence = $3 AND fence_owner = $4))
