-- Takes a lock by its row, also one whose time is over. In: $1 the name, $2 the owner, $3 the lease in milliseconds.
-- Rows: 1 if the lock was free or had expired, else 0.
INSERT INTO textbook_locks AS held (name, owner, expires)
VALUES ($1, $2, clock_timestamp() + $3 * interval '1 millisecond')
ON CONFLICT (name) DO UPDATE SET owner = excluded.owner, expires = excluded.expires
WHERE held.expires < clock_timestamp()
