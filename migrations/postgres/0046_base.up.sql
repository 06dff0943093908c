-- base: the schema of 0.1.0.
--
-- Ids compare by their bytes, on every server.

-- What is sold. initial and segments are what it was created with; later changes are rows of movements. The layout grows when the SKU gets
-- another number of segments, which is the number of its rows in stock_segments. max_reserve_us is how many microseconds a reservation
-- lasts at most. kept is how many of the reserved units of all segments have been committed: a commit locks no segment.
-- archived_at is since when the SKU sells nothing for good.
CREATE TABLE skus (
    sku_id          text COLLATE "C" NOT NULL PRIMARY KEY,
    name            text        NOT NULL,
    initial         bigint      NOT NULL CHECK (initial >= 0 AND initial <= 1000000000),
    segments        integer     NOT NULL CHECK (segments >= 1 AND segments <= 1024),
    created_at      timestamptz NOT NULL,
    layout          bigint      NOT NULL DEFAULT 1,
    sale_starts_at  timestamptz,
    sale_ends_at    timestamptz,
    per_buyer_limit bigint CHECK (per_buyer_limit > 0),
    max_quantity    integer CHECK (max_quantity > 0),
    max_reserve_us  bigint CHECK (max_reserve_us > 0),
    kept            bigint      NOT NULL DEFAULT 0,
    archived_at     timestamptz
);

-- The stock of a SKU, in parts that are sold side by side. available is the last guard against overselling.
-- fence and fence_owner are the newest lock that has written; an older one writes nothing. The layout is the SKU's, in the row that every
-- write locks: the row refuses a writer that knows other segments. reserved are the units that reservations took from the segment and
-- have not given back; only the sum over a SKU's segments means something, because a resegment moves them.
-- Low fillfactor and no index on available: every update stays on its page (HOT).
CREATE TABLE stock_segments (
    sku_id      text COLLATE "C" NOT NULL REFERENCES skus (sku_id),
    segment     integer NOT NULL CHECK (segment >= 0),
    available   bigint  NOT NULL CHECK (available >= 0),
    fence       bigint  NOT NULL DEFAULT 0,
    fence_owner text COLLATE "C" NOT NULL DEFAULT '',
    version     bigint  NOT NULL DEFAULT 0,
    layout      bigint  NOT NULL DEFAULT 1,
    reserved    bigint  NOT NULL DEFAULT 0,
    PRIMARY KEY (sku_id, segment)
) WITH (fillfactor = 50);

-- Stock taken for an order id; the primary key makes a deduction happen once.
-- segment is the one that gave all of it, null if deduction_parts lists several. asked is what the order asked for, null if that is
-- still quantity. A reservation expires unless it is committed; expires_at stays after it has ended, and reserve_micros is for how long
-- its order asked, null if that is still created_at to expires_at. committed is how many units were committed, null if that is still
-- quantity. committed_at is null if it was committed with created_at; ended_at is when it was cancelled or returned.
-- in_order: it is a line of an order of several SKUs. written_off: so many of its units were returned and are not sold again.
-- limited: it was taken while the SKU had a buyer limit.
-- No foreign key to skus: rows are inserted from a locked row of stock_segments, which has one, and a key check
-- for every order of a hot SKU would lock that one row of skus each time.
CREATE TABLE deductions (
    sku_id         text COLLATE "C" NOT NULL,
    order_id       text COLLATE "C" NOT NULL,
    buyer_id       text COLLATE "C",
    quantity       integer     NOT NULL CHECK (quantity >= 1 AND quantity <= 1000000),
    segment        integer,
    status         text COLLATE "C" NOT NULL
        CHECK (status = ANY (ARRAY['reserved', 'committed', 'cancelled', 'expired', 'returned'])),
    created_at     timestamptz NOT NULL,
    asked          integer,
    expires_at     timestamptz,
    reserve_micros bigint,
    committed      integer,
    committed_at   timestamptz,
    ended_at       timestamptz,
    in_order       boolean,
    written_off    integer,
    limited        boolean,
    PRIMARY KEY (sku_id, order_id)
);

-- The live reservations of a SKU, by when they expire. Plain deductions are not in this index.
CREATE INDEX deductions_by_expiry ON deductions (sku_id, expires_at) WHERE status = 'reserved';

-- What uses a buyer's limit up. Orders of other SKUs do not pay for it.
CREATE INDEX deductions_by_buyer ON deductions (sku_id, buyer_id) WHERE limited AND (status = 'reserved' OR status = 'committed');

-- What each segment gave to a deduction that took from several.
CREATE TABLE deduction_parts (
    sku_id   text COLLATE "C" NOT NULL,
    order_id text COLLATE "C" NOT NULL,
    segment  integer NOT NULL,
    quantity integer NOT NULL CHECK (quantity > 0),
    PRIMARY KEY (sku_id, order_id, segment),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id)
);

-- What was done to deductions that stay: a part was given back, or a reservation was extended. The primary key makes each
-- happen once; the return of all units at once has an empty ref. A row is written under the lock of its deduction's row, and never changed.
CREATE TABLE amendments (
    sku_id          text COLLATE "C" NOT NULL,
    order_id        text COLLATE "C" NOT NULL,
    ref             text COLLATE "C" NOT NULL,
    returned        integer CHECK (returned >= 1 AND returned <= 1000000),
    extended_micros bigint CHECK (extended_micros > 0),
    created_at      timestamptz NOT NULL,
    kind            text COLLATE "C" CHECK (kind = ANY (ARRAY['extend', 'cancel', 'return', 'write_off'])),
    reason          text,
    PRIMARY KEY (sku_id, order_id, ref),
    FOREIGN KEY (sku_id, order_id) REFERENCES deductions (sku_id, order_id),
    CHECK (num_nonnulls(returned, extended_micros) = 1)
);

-- The ledger: every change of stock that is not a deduction, of the layout, and of the terms, as JSON. ref makes it happen once.
CREATE TABLE movements (
    sku_id     text COLLATE "C" NOT NULL REFERENCES skus (sku_id),
    ref        text COLLATE "C" NOT NULL,
    kind       text COLLATE "C" NOT NULL,
    quantity   bigint      NOT NULL,
    reason     text        NOT NULL,
    created_at timestamptz NOT NULL,
    segments   integer,
    terms      text,
    PRIMARY KEY (sku_id, ref),
    CONSTRAINT movements_change_check CHECK (
        (kind = ANY (ARRAY['restock', 'adjust']) AND quantity <> 0 AND segments IS NULL AND terms IS NULL)
        OR (kind = 'write_off' AND quantity < 0 AND segments IS NULL AND terms IS NULL)
        OR (kind = 'resegment' AND quantity = 0 AND segments >= 1 AND segments <= 1024 AND terms IS NULL)
        OR (kind = 'terms' AND quantity = 0 AND segments IS NULL))
);

-- The ledger is read by time.
CREATE INDEX movements_by_time ON movements (sku_id, created_at, ref);

-- What each buyer holds of a SKU that has a buyer limit: the units of live deductions. The limit is a constraint of the
-- row, whichever process writes it. Each page keeps room for new versions of some of its rows: most buyers come once.
CREATE TABLE buyers (
    sku_id   text COLLATE "C" NOT NULL,
    buyer_id text COLLATE "C" NOT NULL,
    units    bigint NOT NULL CHECK (units >= 0),
    most     bigint NOT NULL,
    PRIMARY KEY (sku_id, buyer_id),
    CHECK (units <= most)
) WITH (fillfactor = 90);

-- The sums into which deductions of archived SKUs were folded: how many there were, the units of the committed ones, and how
-- many took from several segments. The first one of a SKU creates the row.
CREATE TABLE pruned (
    sku_id     text COLLATE "C" NOT NULL PRIMARY KEY REFERENCES skus (sku_id),
    deductions bigint NOT NULL CHECK (deductions > 0),
    committed  bigint NOT NULL CHECK (committed >= 0),
    merges     bigint NOT NULL CHECK (merges >= 0)
);

-- Orders of several SKUs. Each line is a deduction of its SKU under the same order id. pruned: lines were pruned, or may be at any
-- time; the row stays, so that its id sells nothing again.
CREATE TABLE orders (
    order_id       text COLLATE "C" NOT NULL PRIMARY KEY,
    buyer_id       text COLLATE "C",
    reserve_micros bigint      NOT NULL DEFAULT 0,
    created_at     timestamptz NOT NULL,
    pruned         boolean     NOT NULL DEFAULT false
);

-- A line is inserted with its order, in one statement, and orders are never deleted: a key to orders would find nothing, and its check
-- would cost as much as the line.
CREATE TABLE order_lines (
    order_id text COLLATE "C" NOT NULL,
    sku_id   text COLLATE "C" NOT NULL,
    quantity integer NOT NULL CHECK (quantity >= 1 AND quantity <= 1000000),
    PRIMARY KEY (order_id, sku_id)
);

-- What undoes a statement that has decided wrongly: it returns units if a condition holds, and raises IN002 otherwise. So a statement
-- that is a transaction by itself can look at the clock, or at what it has read, when all else is done, and then write nothing.
CREATE FUNCTION inventory_require(holds boolean, units bigint) RETURNS bigint LANGUAGE plpgsql VOLATILE AS $$
BEGIN
    IF holds IS NOT TRUE THEN
        RAISE EXCEPTION 'it is too late, or another transaction was faster: nothing is written' USING ERRCODE = 'IN002';
    END IF;
    RETURN units;
END $$;

-- Changes of deductions, for teams that feed a queue: see docs/OUTBOX.md. Nothing writes here until the outbox is turned on.
-- xid is the transaction that wrote the row, position distinguishes the rows of one transaction.
CREATE TABLE outbox (
    xid         xid8        NOT NULL DEFAULT pg_current_xact_id(),
    position    bigint      NOT NULL GENERATED ALWAYS AS IDENTITY,
    sku_id      text COLLATE "C" NOT NULL,
    order_id    text COLLATE "C" NOT NULL,
    buyer_id    text COLLATE "C",
    quantity    integer     NOT NULL,
    status      text COLLATE "C" NOT NULL,
    at          timestamptz NOT NULL,
    written_off integer,
    PRIMARY KEY (xid, position)
);
