-- The terms on which a SKU is sold, and its layout, which grows when it gets another number of segments. segments is the
-- number it was created with; how many there are now is the number of its rows in stock_segments.
ALTER TABLE skus
    ADD COLUMN IF NOT EXISTS layout          bigint NOT NULL DEFAULT 1,
    ADD COLUMN IF NOT EXISTS sale_starts_at  timestamptz,
    ADD COLUMN IF NOT EXISTS sale_ends_at    timestamptz,
    ADD COLUMN IF NOT EXISTS per_buyer_limit bigint CHECK (per_buyer_limit > 0),
    ADD COLUMN IF NOT EXISTS max_quantity    integer CHECK (max_quantity > 0);
