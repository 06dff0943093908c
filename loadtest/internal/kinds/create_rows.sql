-- Makes the table of locks that are rows. In: nothing. expires is null where a lock has no lease.
CREATE TABLE IF NOT EXISTS textbook_locks (
    name    text COLLATE "C" PRIMARY KEY,
    owner   text NOT NULL,
    expires timestamptz
)
