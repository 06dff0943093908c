ALTER TABLE skus
    DROP COLUMN IF EXISTS layout,
    DROP COLUMN IF EXISTS sale_starts_at,
    DROP COLUMN IF EXISTS sale_ends_at,
    DROP COLUMN IF EXISTS per_buyer_limit,
    DROP COLUMN IF EXISTS max_quantity;
