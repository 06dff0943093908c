-- adds: the changes of the lines of orders
--
-- The changes of orders of several SKUs, as they were asked for: lines is JSON. The primary key makes each happen once. A row is written
-- under the lock of its order, and never changed.
CREATE TABLE IF NOT EXISTS order_changes (
    order_id   text COLLATE "C" NOT NULL,
    ref        text COLLATE "C" NOT NULL,
    lines      text        NOT NULL,
    buyer_id   text COLLATE "C",
    write_off  boolean     NOT NULL,
    reason     text,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (order_id, ref)
);

-- Of lines of orders whose lines were changed; null for all others. revision is how often that was, removed says that it is a line no
-- more. A line that a change has added asked for 0 units.
ALTER TABLE deductions ADD COLUMN IF NOT EXISTS revision integer;
ALTER TABLE deductions ADD COLUMN IF NOT EXISTS removed boolean;

-- The buyer for whom it was ordered, if it is another one's now; '': nobody's.
ALTER TABLE orders ADD COLUMN IF NOT EXISTS ordered_by text COLLATE "C";
