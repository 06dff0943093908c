-- adds: the units that were taken for deductions later than their orders were
--
-- Units that were taken for a deduction later than its order was: kind is reserve or take, by a change of its order, or retake. A retake
-- also says how many units had gone back when the reservation ended, and when that was, unless amendments say so. A row is written
-- under the lock of its deduction, and never changed.
CREATE TABLE IF NOT EXISTS additions (
    sku_id     text COLLATE "C" NOT NULL,
    order_id   text COLLATE "C" NOT NULL,
    ref        text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    units      integer     NOT NULL CHECK (units >= 1 AND units <= 1000000),
    ended      integer     NOT NULL DEFAULT 0,
    ended_at   timestamptz,
    created_at timestamptz NOT NULL,
    PRIMARY KEY (sku_id, order_id, ref)
);
