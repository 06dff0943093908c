-- Changes of deductions, for teams that feed a queue: see docs/OUTBOX.md. Nothing writes here until the outbox is turned on.
-- AUTOINCREMENT: a position that was trimmed is never used again.
CREATE TABLE IF NOT EXISTS outbox (
    position INTEGER PRIMARY KEY AUTOINCREMENT,
    sku_id   TEXT    NOT NULL,
    order_id TEXT    NOT NULL,
    buyer_id TEXT,
    quantity INTEGER NOT NULL,
    status   TEXT    NOT NULL,
    at       INTEGER NOT NULL
) STRICT;
